-- Projects whose creator was made their owner, for good: it happens once, however often
-- the news comes, and not after the project's end.
create table project_owners (
    project_id text collate "C" constraint project_owners_once primary key
);
