-- What an organization says in its own words; an empty text stands for the default one.
create table custom_texts (
    org_id      text collate "C" not null,
    kind        text collate "C" not null,
    language    text collate "C" not null,
    title       text not null default '',
    pre_header  text not null default '',
    subject     text not null default '',
    greeting    text not null default '',
    text        text not null default '',
    button_text text not null default '',
    footer_text text not null default '',
    sequence    bigint not null,
    created_at  timestamptz not null,
    changed_at  timestamptz not null,
    primary key (org_id, kind, language)
);
