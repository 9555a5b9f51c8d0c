-- Guesses at login names that nobody has. A name has one of 65,536 slots, so strangers cannot add more rows; it is
-- stored as a keyed hash.
create table strangers (
    slot  int primary key,
    name  bytea not null,
    tries int not null,
    since timestamptz not null
);
