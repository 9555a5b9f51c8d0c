-- The account of which a person has agreed that a user is created for it, as tenant/object id; empty for none.
alter table external_logins add column confirmed text collate "C" not null default '';
