-- An organization that was removed keeps its row until its users are gone; nobody sees it, and
-- its names are free.
create function org_removed() returns smallint language sql immutable parallel safe as 'select 3::smallint';
alter table organizations drop constraint organizations_name, drop constraint organizations_primary_domain;
create unique index organizations_name on organizations (name_folded) where state <> org_removed();
create unique index organizations_primary_domain on organizations (primary_domain) where state <> org_removed();
