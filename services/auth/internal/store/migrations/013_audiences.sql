-- Names why the organization of the client may have tokens for the projects that the scopes name; '' if they name none.
-- Authorizations of before that name projects are not valid any more: any application could name any project.
alter table authorizations add column grounds text collate "C" not null default '';
-- By what they end: the grant of a project that they name.
create index authorizations_by_named on authorizations using gin (audience) where grounds <> '';
