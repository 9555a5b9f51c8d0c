-- What an organization says to a project that another one has granted to it. There is no row before it has said
-- anything. The row belongs to that organization, so that neither side writes a row of the other.
create table project_grant_acceptances (
    grant_id   text collate "C" primary key references project_grants on delete cascade,
    -- The organization to which the project is granted.
    org_id     text collate "C" not null,
    state      smallint not null,
    sequence   bigint not null,
    created_at timestamptz not null,
    changed_at timestamptz not null
);

-- Until now a grant was effective for the people of the organization at once: those that are there count as accepted.
insert into project_grant_acceptances (grant_id, org_id, state, sequence, created_at, changed_at)
select id, granted_org_id, 2, sequence, created_at, changed_at from project_grants;
