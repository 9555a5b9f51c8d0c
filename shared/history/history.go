// Package history answers what happened to an object, for all services alike.
package history

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/event"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// Response turns a list of events into the answer to a search for changes. It takes the
// results of event.Journal.Changes, the error among them.
func Response(list search.List[event.Event], err error) (*heraldv1.SearchChangesResponse, error) {
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
			EditorId: e.Actor, Data: data,
		})
	}
	return response, nil
}
