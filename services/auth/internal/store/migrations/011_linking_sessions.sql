-- The session of the person who links the account with which the login comes back; empty for a login.
alter table external_logins add column session_id text collate "C" not null default '';
