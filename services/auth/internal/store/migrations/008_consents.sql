-- What people let applications of other organizations know of them.
create table consents (
    user_id       text collate "C" not null,
    client_id     text collate "C" not null,
    -- The organizations of the user and of the application.
    org_id        text collate "C" not null,
    client_org_id text collate "C" not null,
    scopes        text[] not null,
    created_at    timestamptz not null,
    changed_at    timestamptz not null,
    primary key (user_id, client_id)
);
create index consents_by_client on consents (client_id);
create index consents_by_org on consents (org_id);
