-- What a token that was asked for with a secret keeps of it: it ends with the secret.
create function secret_credential(secret_hash text) returns text language sql immutable as $$
    select case when secret_hash = '' then '' else 'secret:' || left(encode(sha256(secret_hash::bytea), 'hex'), 16) end
$$;

-- The makers of what somebody makes with a personal access token, or with a token that was asked for with a key, a
-- secret or a password: the makers of that and who makes it. Without any of them it is ''. What ended a moment ago makes
-- nothing any more: nobody would know its makers.
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
    elsif not found and token = 'password' then
        select u.password_makers into of_token from users u where u.id = actor and u.password_hash <> '';
    end if;
    if of_token is null then
        raise exception 'the token of the call is gone' using errcode = 'check_violation', constraint = 'makers_token';
    end if;
    return array(select actor union select unnest(of_token) order by 1);
end
$$;
