package store

import (
	"context"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// pastLogins is SQL for past logins as events. They are no events: nobody is told, and there may be very many.
const pastLogins = `select position, id, 'human'::text collate "C" as aggregate, user_id as aggregate_id,
		'logged_in'::text collate "C" as name, org_id as organization_id, user_id as actor,
		jsonb_build_object('amr', amr, 'count', logins, 'last', last_at) as data, time, request_id,
		user_id as history_id
	from past_logins`

// Events returns the reader of this service's events, and of past logins.
func (s Store) Events() event.Reader { return event.Reader{Journal: s.journal, Also: pastLogins} }

// OpenSession stores the session of a login as AddSession does, and that there was the login.
func (s Store) OpenSession(ctx context.Context, hash []byte, n domain.Session) error {
	args, now := event.NoteArgs(ctx, sessionArgs(hash, n)), s.journal.Now()
	args["now"], args["minute"] = now, now.Truncate(time.Minute)
	_, err := s.journal.DB.Exec(ctx, `with login as (
			insert into past_logins as l (user_id, amr, minute, id, org_id, request_id, time, last_at, logins)
			values (@user_id, @amr, @minute, @note_id, @org_id, @request_id, @now, @now, 1)
			on conflict (user_id, amr, minute) do update set logins = l.logins + 1,
				last_at = greatest(l.last_at, @now)
		) `+addSession, args)
	return postgres.Fault(err)
}
