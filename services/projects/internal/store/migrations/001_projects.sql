create extension if not exists pg_trgm;
create extension if not exists btree_gin;

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
);
create index projects_by_creation on projects (org_id, created_at, id);
create index projects_by_name_folded on projects (org_id, name_folded);
-- For texts inside and at the end of names. The list of what is still to be written to
-- the index is short, as every search reads through it.
create index projects_by_part_of_name on projects using gin (org_id, name gin_trgm_ops) with (gin_pending_list_limit = 256);
create index projects_by_part_of_name_folded on projects using gin (org_id, name_folded gin_trgm_ops) with (gin_pending_list_limit = 256);
