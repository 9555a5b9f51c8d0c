-- The users who made what somebody logs in with: a password, a second factor, a link to an account at a provider.
alter table users          add column password_makers text[] not null default '{}';
alter table otp_factors    add column makers text[] not null default '{}';
alter table user_idp_links add column makers text[] not null default '{}';
-- A password that was chosen with a mailed code is the user's own.
update users u set password_makers = array(
    select case when e.actor = 'auth' then u.id else e.actor end from events e
    where e.history_id = u.id and e.aggregate = 'human'
        and (e.name in ('created', 'imported') or e.data -> 'changed' ? 'password')
    order by e.position desc limit 1
) where u.password_hash <> '';
update otp_factors f set makers = array(
    select e.actor from events e
    where e.history_id = f.user_id
        and (e.aggregate = 'human' and e.name in ('created', 'imported') or e.aggregate = 'otp' and e.name = 'added')
    order by e.position desc limit 1
);
update user_idp_links l set makers = array[e.actor] from events e where e.position = l.sequence;
alter table otp_factors    alter column makers drop default;
alter table user_idp_links alter column makers drop default;
