-- What a person or a machine gave a client; all tokens of it end with it. The generations are those at that time.
create table authorizations (
    id                    text collate "C" primary key,
    client_id             text collate "C" not null,
    client_generation     bigint not null,
    -- Of the application; '' for a machine user who logged in by itself.
    project_id            text collate "C" not null,
    project_generation    bigint not null,
    client_org_id         text collate "C" not null,
    client_org_generation bigint not null,
    -- '' for an application that logged in by itself.
    user_id               text collate "C" not null,
    user_generation       bigint not null,
    org_id                text collate "C" not null,
    org_generation        bigint not null,
    session_id            text collate "C" not null,
    scopes                text[] not null,
    audience              text[] not null,
    auth_time             timestamptz not null,
    amr                   text[] not null,
    credential            text collate "C" not null,
    -- When the last token of it expires.
    expires_at            timestamptz not null
);
create index authorizations_by_user on authorizations (user_id) where user_id <> '';
create index authorizations_by_session on authorizations (session_id) where session_id <> '';
create index authorizations_by_org on authorizations (org_id);
create index authorizations_by_client on authorizations (client_id);
create index authorizations_by_expiry on authorizations (expires_at);

create table tokens (
    -- SHA-256.
    hash             bytea primary key,
    kind             smallint not null,
    authorization_id text collate "C" not null references authorizations on delete cascade,
    scopes           text[] not null,
    issued_at        timestamptz not null,
    expires_at       timestamptz not null,
    -- Of a refresh token: when it was exchanged for the next one.
    used_at          timestamptz
);
create index tokens_of_authorization on tokens (authorization_id);
create index tokens_by_expiry on tokens (expires_at);

-- Assertions that were used, until they expire (RFC 7523 section 3).
create table used_assertions (
    issuer     text collate "C" not null,
    id         text collate "C" not null,
    expires_at timestamptz not null,
    primary key (issuer, id)
);
create index used_assertions_by_expiry on used_assertions (expires_at);

-- JSON Web Tokens that were revoked, until they expire.
create table revoked_jwts (
    id         text collate "C" primary key,
    expires_at timestamptz not null
);
create index revoked_jwts_by_expiry on revoked_jwts (expires_at);
