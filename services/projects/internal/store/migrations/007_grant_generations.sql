-- Every deactivation of a grant raises it, so that tokens that were issued because of the grant stay invalid.
alter table project_grants add column generation bigint not null default 0;
