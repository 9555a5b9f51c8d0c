-- What a login keeps of the account at an identity provider with which it was made: it ends with the link.
create function idp_credential(idp_id text, external_user_id text) returns text language sql immutable as $$
    select 'idp:' || idp_id || ':' || external_user_id
$$;

-- The makers of what somebody makes with a personal access token, or with a token that was asked for with a key, a
-- secret, a password or an account at an identity provider: the makers of that and who makes it. Without any of them it
-- is ''. What ended a moment ago makes nothing any more: nobody would know its makers.
create or replace function makers(actor text, token text) returns text[] language plpgsql stable as $$
declare
    of_token text[];
begin
    if token = '' then
        return array[actor];
    end if;
    select t.makers into of_token from personal_access_tokens t where t.id = token;
    if not found and token like 'key:%' then
        select k.makers into of_token from machine_keys k where k.id = substr(token, 5);
    elsif not found and token like 'secret:%' then
        select u.secret_makers into of_token from users u
            where u.id = actor and secret_credential(u.secret_hash) = token;
    elsif not found and token like 'idp:%' then
        select l.makers into of_token from user_idp_links l
            where l.user_id = actor and idp_credential(l.idp_id, l.external_user_id) = token;
    elsif not found and token = 'password' then
        select u.password_makers into of_token from users u where u.id = actor and u.password_hash <> '';
    end if;
    if of_token is null then
        raise exception 'the token of the call is gone' using errcode = 'check_violation', constraint = 'makers_token';
    end if;
    return array(select actor union select unnest(of_token) order by 1);
end
$$;
