-- Accounts at identity providers, of which each is one user's.
create table user_idp_links (
    idp_id           text collate "C" not null,
    external_user_id text collate "C" not null,
    user_id          text collate "C" not null references users on delete cascade,
    tenant_id        text collate "C" not null,
    display_name     text collate "C" not null,
    sequence         bigint not null,
    created_at       timestamptz not null,
    changed_at       timestamptz not null,
    constraint user_idp_links_account primary key (idp_id, external_user_id)
);
create index user_idp_links_by_user on user_idp_links (user_id, created_at, idp_id, external_user_id);

-- Providers that are gone. Their ids are not given again.
create table removed_idps (
    id text collate "C" primary key
);

-- Nobody is linked to a provider that is gone, also who asked about it before.
create function refuse_removed_idps() returns trigger language plpgsql as $$
begin
    if exists (select from linked l join removed_idps r on r.id = l.idp_id) then
        raise exception 'the identity provider is gone'
            using errcode = 'check_violation', constraint = 'user_idp_links_idp';
    end if;
    return null;
end
$$;
create trigger user_idp_links_idp after insert on user_idp_links referencing new table as linked
    for each statement execute function refuse_removed_idps();
