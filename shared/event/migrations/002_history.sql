-- The object whose history shows the event: the aggregate, or what it belongs to.
alter table events add column history_id text collate "C";
update events set history_id = coalesce(case
    when aggregate in ('application', 'grant', 'user_grant') then data ->> 'projectId'
    when aggregate = 'pat' then data ->> 'userId'
end, aggregate_id);
alter table events alter column history_id set not null;
drop index events_of_aggregate;
create index events_of_history on events (history_id, position);
