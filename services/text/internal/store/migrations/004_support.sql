-- The e-mail address that mails and pages with a problem name for help; empty for none.
alter table brandings add column support_email text collate "C" not null default '';
