package event

import (
	"context"

	"herald/shared/search"
)

// Aggregate says whose history to list. Names are the aggregates of the events, such as
// project.
type Aggregate struct {
	OrganizationID string
	Names          []string
	ID             string
}

const columns = `position, id, aggregate, aggregate_id, name, organization_id, actor, data, time`

// Changes lists the events of an aggregate, in their order.
func (j Journal) Changes(ctx context.Context, a Aggregate, p search.Page) (search.List[Event], error) {
	q := search.Select(columns, "events", "position").Where("organization_id = ?", a.OrganizationID).
		Where("aggregate = any (?)", a.Names).Where("aggregate_id = ?", a.ID)
	return search.Read[Event](ctx, j.DB, q, p)
}
