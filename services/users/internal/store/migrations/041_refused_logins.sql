-- Refused logins of people, for the search of events: a row for a user, a reason and a quarter of an hour, with the time
-- of the first and of the last. One whose password is being checked counts until the password is right. Positions are
-- beyond those of events, so that nothing else of the service has the same.
create table refused_logins (
    user_id    text collate "C" not null,
    reason     text collate "C" not null,
    period     timestamptz not null,
    position   bigint not null generated always as identity (start with 4611686018427387904),
    id         text collate "C" not null,
    org_id     text collate "C" not null,
    request_id text collate "C" not null,
    time       timestamptz not null,
    last_at    timestamptz not null,
    refused    bigint not null,
    primary key (user_id, reason, period)
) with (fillfactor = 80);
create index refused_logins_by_time on refused_logins (time, position);
create index refused_logins_by_org on refused_logins (org_id, time, position);

-- Counts that nobody reads: a login of a stranger writes as much as one of a user, so that the time of its refusal does
-- not show that there is nobody. There are 65,536 rows at most.
create table refused_strangers (
    place   int primary key,
    refused bigint not null
) with (fillfactor = 50);
