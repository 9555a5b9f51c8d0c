package event

import (
	"context"

	"herald/shared/search"
)

// History says whose history to list: an organization's events of one object, and of what
// belongs to it.
type History struct {
	OrganizationID string
	// Aggregates are those whose events are listed, such as project.
	Aggregates []string
	ID         string
}

const columns = `position, id, aggregate, aggregate_id, name, organization_id, actor, data, time`

// Changes lists the events of a history, in their order.
func (j Journal) Changes(ctx context.Context, h History, p search.Page) (search.List[Event], error) {
	return search.Read[Event](ctx, j.DB, search.Select(columns, "events", "position").
		Where("organization_id = ?", h.OrganizationID).Where("aggregate = any (?)", h.Aggregates).
		Where("history_id = ?", h.ID), p)
}
