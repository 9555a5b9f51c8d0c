create table applications (
    -- Also the client id.
    id                   text collate "C" primary key,
    project_id           text collate "C" not null constraint applications_project references projects on delete cascade,
    org_id               text collate "C" not null,
    name                 text collate "C" not null,
    name_folded          text collate "C" not null,
    state                smallint not null,
    -- Raised by every deactivation: tokens made under an older one are dead.
    generation           bigint not null default 1,
    -- One of the two, by what the application is.
    oidc_config          jsonb,
    api_config           jsonb,
    -- SHA-256 of the client secret, and of the one before it while it still works.
    secret_hash          bytea,
    former_secret_hash   bytea,
    former_secret_until  timestamptz,
    sequence             bigint not null,
    created_at           timestamptz not null,
    changed_at           timestamptz not null,
    constraint applications_name unique (project_id, name),
    constraint applications_config check (num_nonnulls(oidc_config, api_config) = 1),
    constraint applications_former check ((former_secret_hash is null) = (former_secret_until is null))
) with (fillfactor = 85);
create index applications_by_creation on applications (project_id, created_at, id);

create table application_keys (
    id             text collate "C" primary key,
    application_id text collate "C" not null references applications on delete cascade,
    -- SubjectPublicKeyInfo in DER; the private key is nowhere.
    public_key     bytea not null,
    expires_at     timestamptz not null,
    sequence       bigint not null,
    created_at     timestamptz not null,
    changed_at     timestamptz not null
);
create index application_keys_by_creation on application_keys (application_id, created_at, id);
