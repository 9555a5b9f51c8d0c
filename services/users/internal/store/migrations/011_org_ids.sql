-- Ids of organizations are not given again either: what removes the old one would take the new one.
create table removed_organizations (
    id text collate "C" primary key
);
create function keep_org_ids_unique() returns trigger language plpgsql as $$
begin
    if exists (select from removed_organizations r join made on made.id = r.id) then
        raise exception 'the id was another organization''s'
            using errcode = 'unique_violation', constraint = 'organizations_pkey';
    end if;
    return null;
end
$$;
create trigger ids_are_unique after insert on organizations referencing new table as made for each statement
    execute function keep_org_ids_unique();
