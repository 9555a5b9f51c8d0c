package event

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	heraldv1 "herald/shared/gen/herald/v1"
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

// SearchChanges lists what happened to an aggregate, in the order of the events.
func SearchChanges(ctx context.Context, db *pgxpool.Pool, a Aggregate, p search.Page) (*heraldv1.SearchChangesResponse, error) {
	list, err := search.Read[Event](ctx, db, search.Select(columns, "events", "position").
		Where("organization_id = ?", a.OrganizationID).Where("aggregate = any (?)", a.Names).Where("aggregate_id = ?", a.ID), p)
	if err != nil {
		return nil, err
	}
	out := &heraldv1.SearchChangesResponse{Details: list.Details()}
	for _, e := range list.Rows {
		change, err := e.change()
		if err != nil {
			return nil, err
		}
		out.Result = append(out.Result, change)
	}
	return out, nil
}

func (e Event) change() (*heraldv1.Change, error) {
	data := &structpb.Struct{}
	if err := protojson.Unmarshal(e.Data, data); err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Position, err)
	}
	return &heraldv1.Change{
		Sequence: uint64(e.Position), ChangeDate: timestamppb.New(e.Time), EventType: e.Aggregate + "." + e.Name, EditorId: e.Actor, Data: data,
	}, nil
}
