-- The keys that sign tokens. A removed row is a key that is published no more.
create table signing_keys (
    id          text collate "C" primary key,
    -- RS256 or ES256.
    algorithm   text collate "C" not null,
    -- PKCS #8 in DER, sealed for signing_keys|private_key|<id>.
    private_key bytea not null,
    -- The key with the latest time that is not in the future signs.
    signs_at    timestamptz not null,
    sequence    bigint not null,
    created_at  timestamptz not null,
    changed_at  timestamptz not null
);
