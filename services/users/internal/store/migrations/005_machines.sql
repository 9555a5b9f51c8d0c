-- Of machines; their name is display_name.
alter table users
    add column description       text collate "C" not null default '',
    add column access_token_type smallint not null default 0;
