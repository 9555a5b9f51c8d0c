create table idps (
    id                  text collate "C" primary key,
    org_id              text collate "C" not null,
    state               smallint not null,
    name                text collate "C" not null,
    name_folded         text collate "C" not null,
    client_id           text collate "C" not null,
    -- Sealed for idps|client_secret|<id>.
    client_secret       bytea not null,
    tenant_type         smallint not null,
    -- Empty where the type counts.
    tenant_id           text collate "C" not null,
    email_verified      boolean not null,
    scopes              text[] collate "C" not null,
    is_linking_allowed  boolean not null,
    is_creation_allowed boolean not null,
    is_auto_creation    boolean not null,
    is_auto_update      boolean not null,
    sequence            bigint not null,
    created_at          timestamptz not null,
    changed_at          timestamptz not null
);
create index idps_by_creation on idps (org_id, created_at, id);
