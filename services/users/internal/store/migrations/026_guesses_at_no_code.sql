-- Guesses at codes that are not there have slots too, and with them when mails for such users were asked for, the newest
-- first.
alter table strangers add column mails timestamptz[] not null default '{}';
