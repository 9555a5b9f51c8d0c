-- How mails are sent, as the API has set it: one row. Empty fields are not set.
create table smtp (
    id             text collate "C" primary key default 'instance' check (id = 'instance'),
    url            text collate "C" not null default '',
    "user"         text collate "C" not null default '',
    -- Sealed for smtp|password|instance. Null for none.
    password       bytea,
    sender_address text collate "C" not null default '',
    sender_name    text collate "C" not null default '',
    reply_to       text collate "C" not null default '',
    sequence       bigint not null default 0,
    created_at     timestamptz not null,
    changed_at     timestamptz not null
);
insert into smtp (created_at, changed_at) select time, time from first_start;
