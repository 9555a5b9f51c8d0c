package event

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// maxRead is the largest size of the data of the events in one answer, in bytes. Messages of NATS are limited.
const maxRead = 2 << 20

// Reader reads the events of a service for those who search the events of all services. It implements the method
// ReadEvents of each service's contract.
type Reader struct {
	Journal
	// Names is an SQL expression for the name of the object with the id e.aggregate_id, or null. Empty if no objects
	// of the service have names.
	Names string
	// Also is an SQL select of what else the service shows as events, with the columns of those. Empty for nothing.
	Also string
}

// NoteArgs adds the arguments @note_id and @request_id of a statement that writes a row for Also: an id, and the
// request that is under way.
func NoteArgs(ctx context.Context, args postgres.Args) postgres.Args {
	args["note_id"], args["request_id"] = resource.NewID(), rpc.RequestID(ctx)
	return args
}

// stored is a row that ReadEvents returns.
type stored struct {
	Event
	AggregateName, RequestID string
}

// ReadEvents returns events in the order of their times. Events of one time are in the order of their positions.
func (r Reader) ReadEvents(ctx context.Context, q *heraldv1.ReadEventsRequest) (*heraldv1.ReadEventsResponse, error) {
	name := "''"
	if r.Names != "" {
		name = "coalesce(" + r.Names + ", '')"
	}
	const read = columns + ", request_id"
	from := "events e"
	if r.Also != "" {
		const all = read + ", history_id"
		from = "(select " + all + " from events union all select " + all + " from (" + r.Also + ") also) e"
	}
	s := search.Select(read+", "+name+" as aggregate_name", from, "time, position")
	for _, filter := range []struct {
		condition string
		value     any
		set       bool
	}{
		{"organization_id = ?", q.OrgId, q.OrgId != ""},
		{"actor = ?", q.Actor, q.Actor != ""},
		{"aggregate || '.' || name = any (?)", q.Types, len(q.Types) > 0},
		{"history_id = ?", q.HistoryId, q.HistoryId != ""},
		{"aggregate = any (?)", q.Aggregates, len(q.Aggregates) > 0},
		{"time >= ?", q.Since.AsTime(), q.Since != nil},
		{"time < ?", q.Until.AsTime(), q.Until != nil},
		{"request_id = ?", q.RequestId, q.RequestId != ""},
	} {
		if filter.set {
			s.Where(filter.condition, filter.value)
		}
	}
	if after := q.After; after != nil {
		beyond := "(time, position) < (?, ?)"
		if q.Asc {
			beyond = "(time, position) > (?, ?)"
		}
		s.Where(beyond, after.Time.AsTime(), after.Position)
	}
	rows, err := search.Rows[stored](ctx, r.DB, s, search.Page{Limit: int64(q.Limit) + 1, Asc: q.Asc})
	if err != nil {
		return nil, err
	}
	response, size := &heraldv1.ReadEventsResponse{}, 0
	for _, e := range rows {
		if size += len(e.Data); len(response.Result) == int(q.Limit) || size > maxRead {
			response.More = true
			break
		}
		response.Result = append(response.Result, &heraldv1.StoredEvent{
			Position: position(e.Time, e.Position), Id: e.ID, Aggregate: e.Aggregate, AggregateId: e.AggregateID,
			AggregateName: e.AggregateName, Name: e.Name, OrgId: e.OrganizationID, Actor: e.Actor, Data: e.Data,
			RequestId: e.RequestID,
		})
	}
	return response, nil
}

func position(at time.Time, n int64) *heraldv1.EventPosition {
	return &heraldv1.EventPosition{Time: timestamppb.New(at), Position: n}
}
