-- Logins that made sessions, for the search of events: a row for a user, the methods and a minute, with the time of the
-- first and of the last. Positions are beyond those of events, so that nothing else of the service has the same.
create table past_logins (
    user_id    text collate "C" not null,
    amr        text[] not null,
    minute     timestamptz not null,
    position   bigint not null generated always as identity (start with 4611686018427387904),
    id         text collate "C" not null,
    org_id     text collate "C" not null,
    request_id text collate "C" not null,
    time       timestamptz not null,
    last_at    timestamptz not null,
    logins     bigint not null,
    primary key (user_id, amr, minute)
) with (fillfactor = 90);
create index past_logins_by_time on past_logins (time, position);
create index past_logins_by_org on past_logins (org_id, time, position);
