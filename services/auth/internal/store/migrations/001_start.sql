-- There are no tables yet: what the pages show and change belongs to users.
select 1;
