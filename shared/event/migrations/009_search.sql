-- The request that made the change, as its log entries name it. Empty for older events, and for what Herald did by
-- itself.
alter table events add column request_id text collate "C" not null default '';
-- Searches list the events of the instance, of an organization or of an actor, in the order of their times.
drop index events_of_time;
create index events_of_time on events (time, position);
create index events_of_organization on events (organization_id, time, position);
create index events_of_actor on events (actor, time, position);
