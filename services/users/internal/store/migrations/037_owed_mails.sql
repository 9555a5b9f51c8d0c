-- The first mail of a user whom an import made inactive or locked, by its kind. It is sent when the user comes back.
alter table users add column owed_mail text collate "C" not null default '';

update users u set owed_mail = 'init'
    where u.uninitialized and u.import_digest is not null
        and not exists (select from codes c where c.user_id = u.id and c.purpose = 'init');

-- The organization that the first start made can be removed.
alter table instance alter column org_id drop not null,
    drop constraint instance_org_id_fkey,
    add constraint instance_org_id_fkey foreign key (org_id) references organizations on delete set null;
