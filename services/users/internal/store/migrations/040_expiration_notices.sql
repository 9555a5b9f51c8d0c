-- When a user was last to get a mail about what ends soon in an organization. It stays as long as both, so that an
-- event that comes again asks for no other mail.
create table expiration_notices (
    user_id    text collate "C" not null references users on delete cascade,
    org_id     text collate "C" not null references organizations on delete cascade,
    noticed_at timestamptz not null,
    primary key (user_id, org_id)
);
create index expiration_notices_by_org on expiration_notices (org_id);
-- The organization that such a mail is about. It is null for a notice about the user.
alter table notices add column about_org_id text collate "C";
