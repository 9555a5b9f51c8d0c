-- Guesses are counted beside the code: those at an id without a code leave nothing behind, and a new
-- code begins at none. code_tries is left with guesses at passwords.
alter table codes add column tries int not null default 0;
delete from code_tries where purpose <> 'password';

-- When the last mails with a code were asked for without a login, the newest first.
alter table users drop column code_requested_at, add column mails_requested_at timestamptz[] not null default '{}';
