package event

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/contract"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// History selects the events of one object of an organization, and of everything that belongs to the object.
type History struct {
	// Name is the history's name in the option herald.v1.event, such as project.
	Name           string
	OrganizationID string
	ID             string // of the object
}

const columns = `position, id, aggregate, aggregate_id, name, organization_id, actor, data, time`

// SearchHistory returns a page of the events of a history, in the order of their positions.
func (j Journal) SearchHistory(ctx context.Context, h History, p search.Page) (*heraldv1.SearchChangesResponse, error) {
	aggregates, err := contract.Aggregates(h.Name)
	if err != nil {
		return nil, err
	}
	list, err := search.Read[Event](ctx, j.DB, search.Select(columns, "events", "position").
		Where("organization_id = ?", h.OrganizationID).Where("aggregate = any (?)", aggregates).
		Where("history_id = ?", h.ID), p)
	if err != nil {
		return nil, err
	}
	response := &heraldv1.SearchChangesResponse{Details: list.Details()}
	for _, e := range list.Rows {
		data := &structpb.Struct{}
		if err := protojson.Unmarshal(e.Data, data); err != nil {
			return nil, fmt.Errorf("event %d: %w", e.Position, err)
		}
		response.Result = append(response.Result, &heraldv1.Change{
			Sequence: uint64(e.Position), ChangeDate: timestamppb.New(e.Time), EventType: e.Aggregate + "." + e.Name,
			EditorId: e.Actor, Data: data, ObjectId: e.AggregateID,
		})
	}
	return response, nil
}
