-- Mails that somebody asked for on a page were recorded without organization. A user belongs to one organization for
-- good, so another mail to the same user names it. Where there is no other mail, nothing in this database names it:
-- those mails stay as they are until the user is removed.
update notifications n set org_id = known.org_id
from (select distinct user_id, org_id from notifications where org_id <> '') known
where n.org_id = '' and n.user_id = known.user_id;
