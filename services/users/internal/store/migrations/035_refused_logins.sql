-- Wrong passwords in a browser in which the user logged in before are counted apart. All others have the browser ''.
alter table password_tries add column browser text collate "C" not null default '',
    drop constraint password_tries_pkey, add primary key (user_id, browser);

-- Until when no password of the user is checked. A time in the past means nothing.
alter table users add column locked_until timestamptz;
update users u set locked_until = t.since + case t.tries
        when 10 then interval '15 minutes' when 11 then interval '30 minutes' else interval '1 hour' end
    from password_tries t where t.user_id = u.id and t.tries >= 10;

-- The slowest hash of each format that people were imported with, without its salt and key. Refused logins take as long
-- as its check. The row with the empty format says that the hashes from before this table are in it.
create table password_costs (
    format   text collate "C" primary key,
    specimen text collate "C" not null,
    estimate bigint not null
);
