-- Requests of devices for a login (RFC 8628).
create table devices (
    -- SHA-256 of the device code.
    hash             bytea primary key,
    user_code        text collate "C" not null constraint devices_user_code unique,
    client_id        text collate "C" not null,
    scopes           text[] not null,
    created_at       timestamptz not null,
    expires_at       timestamptz not null,
    -- When the device may ask again, and how long it has to wait between two questions.
    asks_at          timestamptz not null,
    pause            interval not null,
    denied           boolean not null default false,
    -- Null until a person let the device in.
    authorization_id text collate "C" references authorizations on delete cascade
);
create index devices_by_expiry on devices (expires_at);
create index devices_of_authorization on devices (authorization_id);
