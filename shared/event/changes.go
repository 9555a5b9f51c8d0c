package event

import (
	"context"

	"herald/shared/search"
)

// Aggregate names whose history is asked for: what an organization's events say under
// one id. The names are those of the events, such as project.
type Aggregate struct {
	OrganizationID string
	Names          []string
	ID             string
}

const columns = `position, id, aggregate, aggregate_id, name, organization_id, actor, data, time`

// Changes lists what happened to an aggregate, in the order of the events.
func (j Journal) Changes(ctx context.Context, a Aggregate, p search.Page) (search.List[Event], error) {
	return search.Read[Event](ctx, j.DB, search.Select(columns, "events", "position").
		Where("organization_id = ?", a.OrganizationID).Where("aggregate = any (?)", a.Names).Where("aggregate_id = ?",
		a.ID), p)
}
