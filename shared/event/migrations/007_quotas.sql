-- How many objects of a kind one owner may have. A row without organization counts for all that have none of their own.
-- Each start of a service writes the table.
create table quotas (
    name text collate "C" not null,
    org_id text collate "C" not null default '',
    most bigint not null,
    what text not null,
    primary key (name, org_id)
);

-- A quota in an organization.
create function quota_of(quota text, org text) returns setof quotas rows 1 stable language sql as $$
    select * from quotas where name = quota and org_id in ('', org) order by org_id desc limit 1
$$;

-- Refuses an insert after which an owner has more than a quota. Arguments are the quota's name, the columns of the
-- owner, and the organization of the owner f in SQL. Inserts close to the limit take turns for each owner, and then
-- count again: the new count sees what was committed meanwhile. Inserts further away take no turns. They are so far
-- away that 64 of the same size at once stay below the limit.
create function keep_quota() returns trigger language plpgsql as $$
declare
    owners text := format('(select %s, count(*) as added from fresh group by %1$s order by %1$s) f', tg_argv[1]);
    -- The owner with the least room, counted in inserts of the same size.
    least text := format('select q.most, q.what, q.most - c.n as room, (q.most - c.n) / f.added as inserts
        from %s left join lateral quota_of($1, %s) q on true, lateral (
            select count(*) as n from %I.%I t join (select f.*) o using (%s)) c
        order by inserts nulls first, room limit 1', owners, tg_argv[2], tg_table_schema, tg_table_name, tg_argv[1]);
    quota record;
begin
    if not exists (select from fresh) then
        return null;
    end if;
    execute least into quota using tg_argv[0];
    if quota.most is null then
        raise exception 'the table quotas has no "%"', tg_argv[0];
    end if;
    if quota.inserts >= 64 then
        return null;
    end if;
    execute format('select count(pg_advisory_xact_lock(hashtextextended($1 || row(%s)::text, 0))) from %s',
        tg_argv[1], owners) using tg_argv[0];
    execute least into quota using tg_argv[0];
    if quota.room < 0 then
        raise exception using errcode = 'HQ001', message = format(
            'At most %s %s are allowed (quota "%s"): '
            'remove some, or have the operator raise it in HERALD_QUOTAS',
            quota.most, quota.what, tg_argv[0]);
    end if;
    return null;
end
$$;
