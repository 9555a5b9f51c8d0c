package event

import (
	"context"
	"fmt"
	"time"

	"herald/shared/postgres"
)

// Past is what a service wrote of one aggregate since a time: the newest Most events.
type Past struct {
	OrganizationID string
	AggregateID    string
	Since          time.Time
	Most           int
}

// Recall gives handlers the events that the service itself wrote, newest first, in the
// form in which others get them. Only events that have a handler count.
func (j Journal) Recall(ctx context.Context, p Past, handlers ...Handler) error {
	byKind := map[[2]string]Handler{}
	var aggregates, names []string
	for _, h := range handlers {
		byKind[[2]string{h.kind.aggregate, h.kind.name}] = h
		aggregates, names = append(aggregates, h.kind.aggregate), append(names, h.kind.name)
	}
	// Materialized, else Postgres may look for a long history's few young events by reading
	// all events there are, newest first.
	events, err := postgres.All[Event](ctx, j.DB, `with past as materialized (
			select `+columns+` from events where aggregate_id = @aggregate_id and organization_id = @organization_id
				and time >= @since
				and (aggregate, name) in (select * from unnest(@aggregates::text[], @names::text[]))
		)
		select `+columns+` from past order by position desc limit @most`, postgres.Args{
		"aggregate_id": p.AggregateID, "organization_id": p.OrganizationID, "since": p.Since, "aggregates": aggregates,
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
