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

// End ends an authorization: its tokens and its code are gone. ended is the event. If the authorization has ended
// already, nothing is written.
func (s Store) End(ctx context.Context, a domain.Authorization, ended proto.Message) error {
	_, err := s.end(ctx, a, ended)
	return err
}

// end does so and says when.
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

// ending says whether an authorization is there to end, and then the position and time of that.
type ending struct {
	There bool
	At    resource.Record `db:"-"`
}

// Moved implements what event.Change needs of a row.
func (e *ending) Moved(position int64, at time.Time) { e.At.Moved(position, at) }
