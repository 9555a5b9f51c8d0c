-- The logins of people in browsers. The generations are those at the login.
create table sessions (
    id              text collate "C" primary key,
    -- SHA-256 of the cookie.
    hash            bytea not null constraint sessions_hash unique,
    user_id         text collate "C" not null,
    user_generation bigint not null,
    org_id          text collate "C" not null,
    org_generation  bigint not null,
    auth_time       timestamptz not null,
    amr             text[] not null,
    credential      text collate "C" not null,
    client          text collate "C" not null,
    agent           text collate "C" not null,
    created_at      timestamptz not null,
    used_at         timestamptz not null,
    expires_at      timestamptz not null
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_org on sessions (org_id);
create index sessions_by_expiry on sessions (expires_at);

-- Logins that have begun: the password was right, and a second factor or another password is missing.
create table logins (
    -- SHA-256 of the cookie.
    hash            bytea primary key,
    user_id         text collate "C" not null,
    user_generation bigint not null,
    org_id          text collate "C" not null,
    org_generation  bigint not null,
    credential      text collate "C" not null,
    auth_time       timestamptz not null,
    amr             text[] not null,
    needs_factor    boolean not null,
    needs_password  boolean not null,
    expires_at      timestamptz not null
);
create index logins_by_user on logins (user_id);
create index logins_by_org on logins (org_id);
create index logins_by_expiry on logins (expires_at);
