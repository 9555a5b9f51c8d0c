-- Whether a user is linked to the account of a login. A function, because Postgres would plan each statement anew that
-- has this query inside, which takes longer than the rest of a check of a token.
create function holds_link(holder text, login text) returns boolean
    language sql stable
    return exists (select from user_idp_links l
        where l.user_id = holder and idp_credential(l.idp_id, l.external_user_id) = login);
