-- 1 is active, 2 is pending: the user of another organization has not accepted it. What was given before that rule stays
-- active.
alter table members add column state smallint not null default 1;
alter table members alter column state drop default;

-- The memberships that give permissions. Every query that asks who may do what reads these.
create view active_members as
    select user_id, org_id, project_id, roles, state, sequence, created_at, changed_at from members where state = 1;
