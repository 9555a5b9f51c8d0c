-- Requests of clients for a login, until a person has logged in.
create table auth_requests (
    -- Random. It is in the address of the login pages and gives nobody a right, so that it needs no hash.
    id             text collate "C" primary key,
    client_id      text collate "C" not null,
    redirect_uri   text collate "C" not null,
    response_mode  text collate "C" not null,
    state          text collate "C" not null,
    nonce          text collate "C" not null,
    code_challenge text collate "C" not null,
    scopes         text[] not null,
    prompts        text[] not null,
    -- Negative if the client does not say.
    max_age        interval not null,
    login_hint     text collate "C" not null,
    user_id        text collate "C" not null,
    ui_locales     text[] not null,
    created_at     timestamptz not null,
    expires_at     timestamptz not null
);
create index auth_requests_by_expiry on auth_requests (expires_at);
create index auth_requests_by_client on auth_requests (client_id);

-- A code gives the tokens of an authorization, which waits for it: whatever ends the authorization ends the code.
create table codes (
    -- SHA-256.
    hash             bytea primary key,
    authorization_id text collate "C" not null references authorizations on delete cascade,
    redirect_uri     text collate "C" not null,
    code_challenge   text collate "C" not null,
    nonce            text collate "C" not null,
    expires_at       timestamptz not null,
    used_at          timestamptz
);
create index codes_of_authorization on codes (authorization_id);
