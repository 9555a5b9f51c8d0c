-- Whether nobody was asked before the application acts for the person, because it is trusted. Nobody knows this of older
-- authorizations, so they count as given by trust: they end if the application is not trusted or the person has a role.
-- trusted is whether it was trusted when the person gave the authorization, also if the person was asked.
alter table authorizations add column by_trust boolean not null default false,
    add column trusted boolean not null default false;
update authorizations set by_trust = true, trusted = true
    where user_id <> '' and project_id <> '' and org_id = client_org_id
        and 'urn:service:iam:org:project:id:service:aud' = any (scopes);
