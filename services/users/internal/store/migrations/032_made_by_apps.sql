-- For whom a factor was made: the applications that made its secret in the person's name, and the authorizations with
-- which they did, and the same for its recovery codes. A token has the one with which it was made. It is not known for
-- what was made before; that ends with any end of the application's access.
alter table personal_access_tokens add column authorizations text[] not null default '{}';
alter table personal_access_tokens alter column authorizations drop default;
alter table otp_factors
    add column clients        text[] not null default '{}',
    add column authorizations text[] not null default '{}',
    -- A new factor has no codes, so these keep their default.
    add column code_clients        text[] not null default '{}',
    add column code_authorizations text[] not null default '{}',
    -- The secret was made with a token that has the scope openid alone.
    add column openid_only    boolean not null default true;
alter table otp_factors
    alter column clients        drop default,
    alter column authorizations drop default,
    alter column openid_only    drop default;

-- Authorizations that ended a moment ago: a request that was sent with one before makes nothing any more.
create table ended_authorizations (
    id       text collate "C" primary key,
    ended_at timestamptz not null
);
create index ended_authorizations_by_end on ended_authorizations (ended_at);

-- The authorizations with which something is made: that of the caller, or those with which the caller's personal access
-- token was made. What ended a moment ago makes nothing any more: nothing would end what it makes.
create function authorizations_of_maker(authorization_id text, token text) returns text[] language plpgsql stable as $$
declare
    those text[];
begin
    if authorization_id <> '' then
        those := array[authorization_id];
    else
        select t.authorizations into those from personal_access_tokens t where t.id = token;
    end if;
    if exists (select from ended_authorizations e where e.id = any (those)) then
        raise exception 'the login of the call has ended' using errcode = 'check_violation', constraint = 'makers_token';
    end if;
    return coalesce(those, '{}');
end
$$;
