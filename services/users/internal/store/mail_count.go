package store

import (
	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// countMails adds SQL that counts the mails of a change. The table refuses more than domain.CodesADay. The rows are
// locked in one order, so that changes with the same address wait for each other without a deadlock.
func countMails(s *event.Statement, counts []domain.MailCount) {
	s.Also(`counted as (
		insert into mail_counts as c (key, times)
		select k.key, array[event.time] from event, unnest(@mail_counts::bytea[]) k (key) order by k.key
		on conflict (key) do update set times = excluded.times
			|| array(select t from unnest(c.times) t where t > excluded.times[1] - interval '1 day' order by t desc)
	)`, postgres.Args{"mail_counts": counts})
}
