create table notifications (
    -- The id of the event that asked for the mail, kept for good: a repeat finds it.
    id         text collate "C" primary key,
    org_id     text collate "C" not null,
    user_id    text collate "C" not null,
    kind       text collate "C" not null,
    state      smallint not null,
    created_at timestamptz not null,
    -- When it may be claimed, by the clock of the database: the next try, or the end of
    -- the lease while a notifier has it. Null once nothing more happens.
    due_at     timestamptz,
    -- Raised by every claim: who holds an older one cannot write.
    fence      bigint not null default 0,
    language   text collate "C" not null default '',
    recipient  text collate "C" not null default ''
);
create index notifications_due on notifications (due_at) where due_at is not null;
create index notifications_of_user on notifications (org_id, user_id, created_at, id);

create table attempts (
    notification_id text collate "C" not null references notifications on delete cascade,
    -- The fence of the claim that made it.
    number          bigint not null,
    time            timestamptz not null,
    state           smallint not null,
    reply           text collate "C" not null,
    -- The mail without its code, for as long as it may have to be sent once more.
    rendered        jsonb,
    primary key (notification_id, number)
);
