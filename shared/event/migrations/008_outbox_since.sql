-- Since when the event waits to be published. An event that is published again is much older than that.
alter table outbox add column since timestamptz not null default now();
