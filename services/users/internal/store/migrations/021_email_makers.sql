-- The users who chose the e-mail address.
alter table users add column email_makers text[] not null default '{}';
update users u set email_makers = array(
    select e.actor from events e
    where e.history_id = u.id and e.aggregate = 'human'
        and (e.name in ('created', 'imported') or e.data -> 'changed' ? 'email.email')
    order by e.position desc limit 1
) where u.email <> '';
