-- What this service's relay last saw of the stream: which one it was, its first message and how many were missing
-- between its first and its last one.
create table stream_seen (
    single  boolean primary key default true check (single),
    created timestamptz not null,
    first   bigint not null,
    missing bigint not null
);
