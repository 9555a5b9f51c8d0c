-- States by name; they are those of the domain, for good.
create function user_active() returns smallint language sql immutable parallel safe as 'select 1::smallint';
create function org_active() returns smallint language sql immutable parallel safe as 'select 1::smallint';

-- Somebody who can log in owns the instance, whatever is changed. Those who could take
-- the last two owners away at once take turns at the instance's row, which they lock last:
-- the second then sees what the first did.
create function keep_instance_owner() returns trigger language plpgsql as $$
begin
    perform from instance for update;
    if found and not exists (
        select from members m join users u on u.id = m.user_id join organizations o on o.id = u.org_id
        where m.org_id = '' and 'IAM_OWNER' = any (m.roles) and u.state = user_active() and o.state = org_active()
    ) then
        raise exception 'nobody who can log in would own the instance'
            using errcode = 'check_violation', constraint = 'instance_has_owner';
    end if;
    return null;
end
$$;

-- All that can take an owner away; nothing else asks. A user who is removed takes the
-- memberships along, and an organization is removed after its users.
create trigger instance_has_owner after update on users for each row
    when (old.state = user_active() and (new.state <> user_active() or new.org_id <> old.org_id))
    execute function keep_instance_owner();
create trigger instance_has_owner after update on organizations for each row
    when (old.state = org_active() and new.state <> org_active())
    execute function keep_instance_owner();
create trigger instance_has_owner after update on members for each row
    when (old.org_id = '' and 'IAM_OWNER' = any (old.roles)
        and not (new.org_id = '' and 'IAM_OWNER' = any (new.roles) and new.user_id = old.user_id))
    execute function keep_instance_owner();
create trigger instance_has_owner_still after delete on members for each row
    when (old.org_id = '' and 'IAM_OWNER' = any (old.roles))
    execute function keep_instance_owner();
