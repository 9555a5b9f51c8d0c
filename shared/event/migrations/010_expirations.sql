-- How far the announcements of what expires are: everything that ends before the time and the id has been announced so
-- many days before its end, or came too late for that.
create table expiration_steps (
    days       int primary key,
    reached_at timestamptz not null,
    reached_id text collate "C" not null default ''
);
insert into expiration_steps (days, reached_at) select days, now() + make_interval(days => days)
from unnest(array[1, 7, 30]) days;
