-- Says of a user who is inactive or locked that the code of the first mail was still waited for.
alter table users add column uninitialized boolean not null default false;

-- Metadata comes with its user and changes for itself from then on.
alter table user_metadata add column sequence bigint, add column created_at timestamptz,
    add column changed_at timestamptz;
update user_metadata m set sequence = u.sequence, created_at = u.created_at, changed_at = u.created_at
    from users u where u.id = m.user_id;
alter table user_metadata alter column sequence set not null, alter column created_at set not null,
    alter column changed_at set not null;

-- Ids are not given again. Asked after the insert, which may have waited for the removal.
create table removed_users (
    id text collate "C" primary key
);
create function keep_ids_unique() returns trigger language plpgsql as $$
begin
    if exists (select from removed_users r join made on made.id = r.id) then
        raise exception 'the id was another user''s' using errcode = 'unique_violation', constraint = 'users_id';
    end if;
    return null;
end
$$;
create trigger ids_are_unique after insert on users referencing new table as made for each statement
    execute function keep_ids_unique();

-- The first administrator can be removed like everybody else.
alter table instance alter column administrator drop not null,
    drop constraint instance_administrator_fkey,
    add constraint instance_administrator_fkey foreign key (administrator) references users on delete set null;
