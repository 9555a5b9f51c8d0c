-- The languages of mails and pages: one row, so that who changes the default one and who
-- changes the allowed ones take turns. The default language is empty while the setting
-- counts; no allowed languages stand for all.
create table languages (
    single            boolean primary key default true check (single),
    default_language  text collate "C" not null default '',
    allowed_languages text[] collate "C" not null default '{}',
    sequence          bigint not null default 0,
    created_at        timestamptz not null,
    changed_at        timestamptz not null,
    constraint languages_default_allowed check (allowed_languages = '{}' or default_language = any (allowed_languages))
);
insert into languages (created_at, changed_at) select time, time from first_start;
