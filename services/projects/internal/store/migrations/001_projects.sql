create extension if not exists pg_trgm;

create table projects (
    id                       text collate "C" primary key,
    org_id                   text collate "C" not null,
    name                     text collate "C" not null,
    name_folded              text collate "C" not null,
    state                    smallint not null,
    -- Raised by every deactivation: tokens made under an older one are dead.
    generation               bigint not null default 1,
    project_role_assertion   boolean not null,
    project_role_check       boolean not null,
    has_project_check        boolean not null,
    private_labeling_setting smallint not null,
    sequence                 bigint not null,
    created_at               timestamptz not null,
    changed_at               timestamptz not null,
    constraint projects_name unique (org_id, name)
    -- Room on every page: a change that keeps the name then leaves all indexes alone.
) with (fillfactor = 85);
create index projects_by_creation on projects (org_id, created_at, id);
create index projects_by_name_folded on projects (org_id, name_folded);
-- For texts inside names. The organization is not in them: GIN would
-- read through all that it has instead of the few projects whose name has the text. The
-- list of what is still to be written to an index is short, as every search reads it.
create index projects_by_part_of_name on projects using gin (name gin_trgm_ops) with (gin_pending_list_limit = 256);
create index projects_by_part_of_name_folded on projects using gin (name_folded gin_trgm_ops) with (gin_pending_list_limit = 256);

create table roles (
    project_id          text collate "C" not null constraint roles_project references projects on delete cascade,
    key                 text collate "C" not null,
    key_folded          text collate "C" not null,
    display_name        text collate "C" not null,
    display_name_folded text collate "C" not null,
    "group"             text collate "C" not null,
    sequence            bigint not null,
    created_at          timestamptz not null,
    changed_at          timestamptz not null,
    constraint roles_key primary key (project_id, key)
);
create index roles_by_creation on roles (project_id, created_at, key);

create table project_grants (
    id             text collate "C" primary key,
    project_id     text collate "C" not null references projects on delete cascade,
    granted_org_id text collate "C" not null,
    role_keys      text[] collate "C" not null,
    state          smallint not null,
    sequence       bigint not null,
    created_at     timestamptz not null,
    changed_at     timestamptz not null,
    constraint project_grants_org unique (project_id, granted_org_id)
);
create index project_grants_by_creation on project_grants (project_id, created_at, id);
create index project_grants_by_org on project_grants (granted_org_id, created_at, id);

create table user_grants (
    id               text collate "C" primary key,
    org_id           text collate "C" not null,
    user_id          text collate "C" not null,
    project_id       text collate "C" not null references projects on delete cascade,
    -- Null on the organization's own projects.
    project_grant_id text collate "C" references project_grants on delete cascade,
    role_keys        text[] collate "C" not null,
    sequence         bigint not null,
    created_at       timestamptz not null,
    changed_at       timestamptz not null
);
create unique index user_grants_place on user_grants (org_id, user_id, project_id, coalesce(project_grant_id, ''));
create index user_grants_by_creation on user_grants (org_id, created_at, id);
create index user_grants_by_user on user_grants (user_id);
create index user_grants_of_project on user_grants (project_id);
create index user_grants_of_grant on user_grants (project_grant_id);
