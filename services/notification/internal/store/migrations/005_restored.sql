-- When the database was restored from a backup. Mails that events before ask for may have been sent already.
create table restored (at timestamptz not null);
