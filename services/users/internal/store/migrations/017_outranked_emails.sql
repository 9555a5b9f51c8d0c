-- The address was chosen by somebody who lacks a permission that the user got later. No code is sent to it.
alter table users add column email_outranked boolean not null default false;
