-- Mails that no notifier has claimed yet are found by organization and kind, so that these take turns. The others are
-- found by when they are due.
create index notifications_new on notifications (org_id, kind, due_at) where due_at is not null and fence = 0;
drop index notifications_due;
create index notifications_due on notifications (due_at) where due_at is not null and fence > 0;
