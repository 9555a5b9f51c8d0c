-- The application with whose token a user made a personal access token; empty for none. It ends with the access.
alter table personal_access_tokens add column client_id text not null default '';
alter table personal_access_tokens alter column client_id drop default;
