-- Users who are gone: nobody grants them anything any more, also who asked for them before.
create table removed_users (
    id text collate "C" primary key
);

-- A grant that is being made holds the user's lock until it is committed. The removal waits for the lock after it has
-- noted the user here, so it finds that grant.
create function refuse_removed_users() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(1, hashtext(new.user_id));
    if exists (select from removed_users where id = new.user_id) then
        raise exception 'the user is gone' using errcode = 'check_violation', constraint = 'user_grants_user';
    end if;
    return new;
end
$$;
create trigger user_grants_user before insert on user_grants for each row execute function refuse_removed_users();
