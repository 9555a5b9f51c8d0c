-- SHA-256 in hexadecimal; empty without a secret.
alter table users add column secret_hash text collate "C" not null default '';

-- Public keys, as SubjectPublicKeyInfo in DER.
create table machine_keys (
    id         text collate "C" primary key,
    user_id    text collate "C" not null references users on delete cascade,
    public_key bytea not null,
    expires_at timestamptz not null,
    sequence   bigint not null,
    created_at timestamptz not null,
    changed_at timestamptz not null
);
create index machine_keys_by_user on machine_keys (user_id, created_at, id);
