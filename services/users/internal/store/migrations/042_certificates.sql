-- The certificates of the gateways' ports, which gateways note again and again.
create table certificates (
    id         text collate "C" primary key,
    name       text collate "C" not null,
    expires_at timestamptz not null,
    created_at timestamptz not null,
    noted_at   timestamptz not null
);
