package event

import (
	"context"
	"fmt"
	"time"

	"herald/shared/postgres"
)

// Past selects events of one object's history since a time: the newest, at most Most.
type Past struct {
	OrganizationID string
	HistoryID      string
	Since          time.Time
	Most           int
}

// Recall gives the service's own past events to handlers, newest first, as other services
// get them. Events without a handler are not selected.
func (j Journal) Recall(ctx context.Context, p Past, handlers ...Handler) error {
	byKind := map[[2]string]Handler{}
	var aggregates, names []string
	for _, h := range handlers {
		byKind[[2]string{h.kind.aggregate, h.kind.name}] = h
		aggregates, names = append(aggregates, h.kind.aggregate), append(names, h.kind.name)
	}
	// Without "materialized" Postgres may read all events of all aggregates, newest first, to
	// find the few new ones of an aggregate with a long history.
	events, err := postgres.All[Event](ctx, j.DB, `with past as materialized (
			select `+columns+` from events where history_id = @history_id and organization_id = @organization_id
				and time >= @since
				and (aggregate, name) in (select * from unnest(@aggregates::text[], @names::text[]))
		)
		select `+columns+` from past order by position desc limit @most`, postgres.Args{
		"history_id": p.HistoryID, "organization_id": p.OrganizationID, "since": p.Since, "aggregates": aggregates,
		"names": names, "most": p.Most,
	})
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := byKind[[2]string{e.Aggregate, e.Name}].handle(ctx, e.delivery(), e.Data); err != nil {
			return fmt.Errorf("event %d: %w", e.Position, err)
		}
	}
	return nil
}

func (e Event) delivery() Delivery {
	return Delivery{ID: e.ID, AggregateID: e.AggregateID, OrganizationID: e.OrganizationID, Actor: e.Actor,
		Sequence: e.Position, Time: e.Time}
}
