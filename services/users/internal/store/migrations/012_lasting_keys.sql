-- Random keys of what outlives a master key: mailed codes, digests of imports.
create table lasting_keys (
    name   text collate "C" primary key,
    -- Sealed for lasting_keys|secret|<name>.
    secret bytea not null
);
