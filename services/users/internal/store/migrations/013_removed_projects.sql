-- Projects that are gone: nobody becomes their member any more, also who asked for them before.
create table removed_projects (
    id text collate "C" primary key
);

-- A member who is being added holds the project's lock until it is committed. The removal waits for the lock after it
-- has noted the project here, so it finds that member.
create function refuse_removed_projects() returns trigger language plpgsql as $$
begin
    perform pg_advisory_xact_lock_shared(1, hashtext(new.project_id));
    if exists (select from removed_projects where id = new.project_id) then
        raise exception 'the project is gone' using errcode = 'check_violation', constraint = 'members_project';
    end if;
    return new;
end
$$;
create trigger members_project before insert on members for each row when (new.project_id <> '')
    execute function refuse_removed_projects();
