-- Logins that were refused and that no event reports yet.
create table refused_logins (
    idp_id  text collate "C" not null references idps on delete cascade,
    -- The id of a fault.
    reason  text collate "C" not null,
    refused bigint not null,
    -- When the first of them was refused.
    since   timestamptz not null,
    primary key (idp_id, reason)
);
-- When an event reported refused logins last.
alter table idps add column refusals_reported_at timestamptz;
