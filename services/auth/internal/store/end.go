package store

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/resource"
)

// End deletes an authorization with its tokens and its code. ended is the event. If the authorization has ended
// already, nothing is written.
func (s Store) End(ctx context.Context, a domain.Authorization, ended proto.Message) error {
	_, err := s.end(ctx, a, ended)
	return err
}

// end does the same, and returns the position and time of the event.
func (s Store) end(ctx context.Context, a domain.Authorization, ended proto.Message) (ending, error) {
	org := a.OrgID
	if org == "" {
		org = a.ClientOrgID
	}
	return event.Change(ctx, s.journal, event.Locked[ending]{
		Lock: `with locked as (select id from authorizations where id = @id for update)
			select count(*) > 0 as there from locked`,
		Args:  postgres.Args{"id": a.ID},
		Write: func(ending) event.Statement { return event.Removal("authorizations", a.ID, org) },
	}, func(e *ending) (proto.Message, error) {
		if !e.There {
			return nil, nil
		}
		return ended, nil
	})
}

// ending reports whether the authorization existed. If so, it has the position and time of the event.
type ending struct {
	There bool
	At    resource.Record `db:"-"`
}

// Moved implements what event.Change needs of a row.
func (e *ending) Moved(position int64, at time.Time) { e.At.Moved(position, at) }
