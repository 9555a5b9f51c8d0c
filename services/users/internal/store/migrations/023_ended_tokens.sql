-- The makers of what somebody makes with a personal access token, or without one if it is ''. A token that ended a
-- moment ago makes nothing any more: nobody would know its makers.
create function makers(actor text, token text) returns text[] language plpgsql stable as $$
declare
    of_token text[];
begin
    if token = '' then
        return array[actor];
    end if;
    select t.makers into of_token from personal_access_tokens t where t.id = token;
    if not found then
        raise exception 'the token of the call is gone' using errcode = 'check_violation', constraint = 'makers_token';
    end if;
    return array(select actor union select unnest(of_token) order by 1);
end
$$;
