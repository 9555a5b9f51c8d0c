-- A name has one of 4,194,304 slots instead of 65,536: the rows of the old ones would stand in other names' places.
delete from strangers;
