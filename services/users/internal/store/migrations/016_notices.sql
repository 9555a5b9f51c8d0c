-- What notices tell, for the notifier. An event holds no address.
create table notices (
    id        text collate "C" primary key,
    user_id   text collate "C" not null references users on delete cascade,
    recipient text collate "C" not null,
    -- Whether the user made the change, rather than an administrator.
    own       boolean not null,
    time      timestamptz not null
);
create index notices_by_time on notices (time);
create index notices_by_user on notices (user_id);
