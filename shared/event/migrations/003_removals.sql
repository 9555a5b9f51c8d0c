-- Organizations whose removal goes on in this service: see package removal.
create table removals (
    organization_id text collate "C" primary key,
    -- The event that told of it, and who did it.
    cause           text collate "C" not null,
    actor           text collate "C" not null,
    heard_at        timestamptz not null default now()
);
