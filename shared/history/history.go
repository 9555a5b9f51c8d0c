// Package history searches the events of an object, in the same way for all services.
package history

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/contract"
	"herald/shared/event"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// Object names the object whose history is searched.
type Object struct {
	// History is a name that herald.v1.event gives to events, such as project.
	History        string
	OrganizationID string
	ID             string
}

// Search returns the events of an object in their order.
func Search(
	ctx context.Context, j event.Journal, o Object, p search.Page,
) (*heraldv1.SearchChangesResponse, error) {
	aggregates, err := contract.Aggregates(o.History)
	if err != nil {
		return nil, err
	}
	list, err := j.Changes(ctx,
		event.History{OrganizationID: o.OrganizationID, Aggregates: aggregates, ID: o.ID}, p)
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
