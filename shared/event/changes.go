package event

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/page"
)

// Aggregate names whose history is asked for: one aggregate of an organization.
type Aggregate struct{ OrganizationID, Name, ID string }

// Changes lists what happened to an aggregate, in the order of the events.
func Changes(ctx context.Context, db *pgxpool.Pool, a Aggregate, p page.Page) (page.List[Event], error) {
	return page.Read[Event](ctx, db, page.Select(`position, id, aggregate, aggregate_id, name, organization_id, actor, data, time`, "events", "position").
		Where("organization_id = ?", a.OrganizationID).Where("aggregate = ?", a.Name).Where("aggregate_id = ?", a.ID), p)
}

// Change is the event as it is shown to those who may read its object.
func (e Event) Change() (*heraldv1.Change, error) {
	data := &structpb.Struct{}
	if err := protojson.Unmarshal(e.Data, data); err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Position, err)
	}
	return &heraldv1.Change{
		Sequence: uint64(e.Position), ChangeDate: timestamppb.New(e.Time), EventType: e.Aggregate + "." + e.Name, EditorId: e.Actor, Data: data,
	}, nil
}
