-- Whether the address to which a notice goes was verified. Another one may be a stranger's.
alter table notices add column verified boolean not null default false;
alter table notices alter column verified drop default;
