-- How login pages look for an organization. An empty color or hash stands for none; the hash is that of the logo, in
-- hexadecimal digits.
create table brandings (
    org_id        text collate "C" primary key,
    primary_color text collate "C" not null default '',
    logo_hash     text collate "C" not null default '',
    logo_type     text collate "C" not null default '',
    logo          bytea not null default '',
    sequence      bigint not null,
    created_at    timestamptz not null,
    changed_at    timestamptz not null
);
-- Images are compressed already.
alter table brandings alter column logo set storage external;
