-- When callers had mails sent within a day, the newest first, by a keyed hash of the user or of the address in an
-- organization. Other people's requests for a mail are in users.mails_requested_at.
create table mail_counts (
    key   bytea primary key,
    times timestamptz[] not null,
    constraint mail_counts_a_day check (cardinality(times) <= 10)
);
