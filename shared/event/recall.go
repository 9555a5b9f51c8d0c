package event

import (
	"context"
	"fmt"
	"time"

	"herald/shared/postgres"
)

// Past selects the newest events of one object's history since a time, at most Most of them.
type Past struct {
	OrganizationID string
	HistoryID      string
	Since          time.Time
	Most           int
}

// Recall passes past events of this service to handlers, newest first. The handlers get them in the same form as
// events of other services. Events without a handler are left out.
func (j Journal) Recall(ctx context.Context, p Past, handlers ...Handler) error {
	byKind := map[[2]string]Handler{}
	var aggregates, names []string
	for _, h := range handlers {
		byKind[[2]string{h.kind.aggregate, h.kind.name}] = h
		aggregates, names = append(aggregates, h.kind.aggregate), append(names, h.kind.name)
	}
	// Without "materialized" Postgres may read the events of all aggregates, newest first, until it has found the few
	// events that match.
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
