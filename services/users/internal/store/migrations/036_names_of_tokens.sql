-- What a personal access token is for, and when it was last used, to a minute; null for never.
alter table personal_access_tokens
    add column name text collate "C" not null default '',
    add column last_used_at timestamptz;
alter table personal_access_tokens alter column name drop default;
