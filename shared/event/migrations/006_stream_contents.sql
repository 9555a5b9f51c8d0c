-- Which run of which NATS server the relay saw the stream on, the stream's last message, and the time from which on
-- the stream has all events of this service. Events of before were dropped because the stream was full.
alter table stream_seen add column server text not null default '', add column last bigint not null default 0,
    add column since timestamptz not null default '-infinity';
-- Finds the events of the last days. Rows are written in the order of their times, so a small index is enough.
create index events_of_time on events using brin (time) with (autosummarize = on);
