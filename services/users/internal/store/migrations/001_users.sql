create table organizations (
    id             text collate "C" primary key,
    name           text collate "C" not null,
    name_folded    text collate "C" not null constraint organizations_name unique,
    primary_domain text collate "C" not null constraint organizations_primary_domain unique,
    state          smallint not null,
    -- Raised by every deactivation: tokens made under an older one are dead.
    generation     bigint not null default 1,
    sequence       bigint not null,
    created_at     timestamptz not null,
    changed_at     timestamptz not null
);
create index organizations_by_creation on organizations (created_at, id);

create table users (
    id                       text collate "C" constraint users_id primary key,
    org_id                   text collate "C" not null constraint users_org references organizations,
    type                     smallint not null,
    state                    smallint not null,
    user_name                text collate "C" not null,
    user_name_folded         text collate "C" not null constraint users_user_name unique,
    first_name               text collate "C" not null default '',
    first_name_folded        text collate "C" not null default '',
    last_name                text collate "C" not null default '',
    last_name_folded         text collate "C" not null default '',
    nick_name                text collate "C" not null default '',
    display_name             text collate "C" not null default '',
    display_name_folded      text collate "C" not null default '',
    preferred_language       text collate "C" not null default '',
    gender                   smallint not null default 0,
    email                    text collate "C" not null default '',
    email_folded             text collate "C" not null default '',
    email_verified           boolean not null default false,
    phone                    text collate "C" not null default '',
    phone_verified           boolean not null default false,
    password_hash            text collate "C" not null default '',
    password_change_required boolean not null default false,
    -- Keyed digests of the fields of the first import, by which a repeat is told.
    import_digest            jsonb,
    generation               bigint not null default 1,
    sequence                 bigint not null,
    created_at               timestamptz not null,
    changed_at               timestamptz not null
);
create index users_by_creation on users (org_id, created_at, id);
create index users_by_email on users (email_folded);

create table user_metadata (
    user_id text collate "C" not null references users on delete cascade,
    key     text collate "C" not null,
    value   bytea not null,
    primary key (user_id, key)
);

-- Sealed for otp_factors|secret|<user id>.
create table otp_factors (
    user_id text collate "C" primary key references users on delete cascade,
    secret  bytea not null,
    state   smallint not null
);

-- A mailed code, without the code: it is derived from the nonce when the mail is sent.
create table codes (
    user_id         text collate "C" not null references users on delete cascade,
    purpose         text collate "C" not null,
    notification_id text collate "C" not null,
    nonce           bytea not null,
    mac             bytea not null,
    made_at         timestamptz not null,
    -- Counts from the first sending.
    expires_at      timestamptz,
    primary key (user_id, purpose)
);

-- Guesses at codes, for any id that was tried, also of nobody.
create table code_tries (
    user_id text collate "C" not null,
    purpose text collate "C" not null,
    tries   int not null,
    since   timestamptz not null,
    primary key (user_id, purpose)
);
create index code_tries_by_age on code_tries (since);

-- org_id is empty for the instance, project_id for a whole organization.
create table members (
    user_id    text collate "C" not null references users on delete cascade,
    org_id     text collate "C" not null,
    project_id text collate "C" not null default '',
    roles      text[] not null,
    sequence   bigint not null,
    created_at timestamptz not null,
    changed_at timestamptz not null,
    constraint members_user_place primary key (user_id, org_id, project_id)
);
create index members_by_place on members (org_id, project_id, created_at, user_id);

create table personal_access_tokens (
    id         text collate "C" primary key,
    user_id    text collate "C" not null references users on delete cascade,
    hash       bytea not null unique,
    scopes     text[] not null,
    expires_at timestamptz not null,
    sequence   bigint not null,
    created_at timestamptz not null,
    changed_at timestamptz not null
);
create index personal_access_tokens_by_user on personal_access_tokens (user_id, created_at, id);

-- What the first start made.
create table instance (
    one           boolean primary key default true check (one),
    org_id        text collate "C" not null references organizations,
    administrator text collate "C" not null references users
);
