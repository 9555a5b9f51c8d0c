-- How long tokens are valid and keys sign, as the API has set it: one row. What is 0 is not set.
create table settings (
    id           text collate "C" primary key default 'instance' check (id = 'instance'),
    access       interval not null default '0',
    refresh_idle interval not null default '0',
    refresh      interval not null default '0',
    key_period   interval not null default '0',
    sequence     bigint not null default 0,
    created_at   timestamptz not null,
    changed_at   timestamptz not null
);
insert into settings (created_at, changed_at) select time, time from first_start;
