-- The users who made a credential or asked for a code: who called, and the makers of the token of the call.
alter table personal_access_tokens add column makers text[] not null default '{}';
alter table machine_keys           add column makers text[] not null default '{}';
alter table codes                  add column makers text[] not null default '{}';
alter table users                  add column secret_makers text[] not null default '{}';
update personal_access_tokens p set makers = array[e.actor] from events e where e.position = p.sequence;
update machine_keys k           set makers = array[e.actor] from events e where e.position = k.sequence;
update codes c                  set makers = array[e.actor] from events e where e.id = c.notification_id;
update users u set secret_makers = array(
    select e.actor from events e where e.history_id = u.id and e.aggregate = 'machine' and e.name = 'secret_set'
    order by e.position desc limit 1
) where u.secret_hash <> '';
alter table personal_access_tokens alter column makers drop default;
alter table machine_keys           alter column makers drop default;
alter table codes                  alter column makers drop default;

-- By it a user, or the user's organization, ends a membership in any place.
alter table members add column id text collate "C" not null default gen_random_uuid()::text
    constraint members_id unique;
