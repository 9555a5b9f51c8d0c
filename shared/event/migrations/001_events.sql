-- Every change of the service, for good: the source of audit and replay.
create table events (
    position        bigint generated always as identity primary key,
    id              text collate "C" not null,
    aggregate       text collate "C" not null,
    aggregate_id    text collate "C" not null,
    name            text collate "C" not null,
    organization_id text collate "C" not null,
    actor           text collate "C" not null,
    data            jsonb not null,
    time            timestamptz not null
);
create index events_of_aggregate on events (aggregate_id, position);

-- Positions that are not yet published. Rows come and go: it is vacuumed early.
create table outbox (
    position bigint primary key
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- When this service's history began.
create table first_start (
    single boolean primary key default true check (single),
    time timestamptz not null default now()
);
insert into first_start default values;
