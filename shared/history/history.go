// Package history answers what happened to an object, for all services alike.
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

// Object is what a history is about.
type Object struct {
	// History is the name in the contract, such as project: herald.v1.event says which events it shows.
	History        string
	OrganizationID string
	ID             string
}

// Search lists what happened to an object, in the order of the events.
func Search(
	ctx context.Context, j event.Journal, o Object, p search.Page,
) (*heraldv1.SearchChangesResponse, error) {
	list, err := j.Changes(ctx,
		event.History{OrganizationID: o.OrganizationID, Aggregates: contract.Aggregates(o.History), ID: o.ID}, p)
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
