-- When a mail with a code was last asked for without a login: requests at once wait
-- for the user's row, and the second then sees that the first was served.
alter table users add column code_requested_at timestamptz;
