-- The address that a user has chosen and not proved yet; empty for none. The other one stays until then. The code for it
-- says who may have chosen it, so it goes with the code.
alter table users add column pending_email text collate "C" not null default '';

create function end_pending_email() returns trigger language plpgsql as $$
begin
    update users set pending_email = '' where id = old.user_id and pending_email <> '';
    return null;
end $$;
create trigger pending_email after delete on codes for each row when (old.purpose = 'verifyemail')
    execute function end_pending_email();
