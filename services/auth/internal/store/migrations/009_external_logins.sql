-- Logins that have begun at an identity provider.
create table external_logins (
    -- SHA-256 of the cookie.
    hash       bytea primary key,
    org_id     text collate "C" not null,
    idp_id     text collate "C" not null,
    request_id text collate "C" not null,
    language   text collate "C" not null,
    again      boolean not null,
    begun_at   timestamptz not null,
    expires_at timestamptz not null
);
create index external_logins_by_expiry on external_logins (expires_at);

-- What ends with a provider.
create index sessions_by_idp on sessions (credential) where credential like 'idp:%';
create index logins_by_idp on logins (credential) where credential like 'idp:%';
create index authorizations_by_idp on authorizations (credential) where credential like 'idp:%';
