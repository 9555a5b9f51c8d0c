-- The applications that a person logged in to with a session, and that want to hear of its end.
create table session_clients (
    session_id    text collate "C" not null references sessions on delete cascade,
    client_id     text collate "C" not null,
    client_org_id text collate "C" not null,
    primary key (session_id, client_id)
);

-- Applications that are to be told that a session has ended. A row is gone once the application has heard of it, or
-- nobody tries any more.
create table logouts (
    session_id    text collate "C" not null,
    client_id     text collate "C" not null,
    client_org_id text collate "C" not null,
    user_id       text collate "C" not null,
    -- When the next try is due, or, while there is one, when another replica may take it over.
    due_at        timestamptz not null,
    tries         integer not null default 0,
    -- Rises with each claim, so that a replica that wakes late writes nothing.
    fence         bigint not null default 0,
    primary key (session_id, client_id)
);
create index logouts_by_turn on logouts (client_org_id, due_at);
