// Package audit answers the requests of the services Audit and Expirations, which show what happened in all services,
// and what of them expires soon. It asks the services and merges their answers.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/shared/bus"
	"herald/shared/caller"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/search"
)

const (
	// usualLimit is the size of a page whose request has no limit.
	usualLimit = 100
	// maxPage is the largest size of the data of a page's events, in bytes. Messages of NATS are limited.
	maxPage = 1 << 20
)

// Server implements both services.
type Server struct {
	base.Base
	// services are the names of all services, also of this one. Each has the method ReadEvents.
	services []string
	calls    grpc.ClientConnInterface
	projects projectsv1.InternalClient
	// keep is how far back the search goes.
	keep time.Duration
}

// New returns a server that calls all services. keep is how far back the search of events goes.
func New(
	b base.Base, calls grpc.ClientConnInterface, projects projectsv1.InternalClient, keep time.Duration,
) (Server, error) {
	services, err := bus.Services()
	return Server{b, services, calls, projects, keep}, err
}

// SearchEvents lists the events of the organization acted on.
func (s Server) SearchEvents(
	ctx context.Context, r *usersv1.SearchEventsRequest,
) (*usersv1.SearchEventsResponse, error) {
	if !slices.Contains([]string{"", base.OrgID(ctx)}, r.ResourceOwner) {
		return &usersv1.SearchEventsResponse{}, nil
	}
	return s.search(ctx, base.OrgID(ctx), r)
}

// SearchInstanceEvents lists the events of the instance and of all organizations.
func (s Server) SearchInstanceEvents(
	ctx context.Context, r *usersv1.SearchEventsRequest,
) (*usersv1.SearchEventsResponse, error) {
	return s.search(ctx, r.ResourceOwner, r)
}

// search reads a page of the events of an organization, or of all if it has no id.
func (s Server) search(
	ctx context.Context, orgID string, r *usersv1.SearchEventsRequest,
) (*usersv1.SearchEventsResponse, error) {
	page, err := search.Bounds(&heraldv1.ListQuery{Limit: cmp.Or(r.Limit, min(usualLimit, s.MaxLimit))}, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	var after *domain.EventPosition
	if r.After != "" {
		p, err := domain.ParseEventPosition(r.After)
		if err != nil {
			return nil, err
		}
		after = &p
	}
	since := s.Now().Add(-s.keep)
	if asked := r.GetRange().GetSince(); asked != nil && asked.AsTime().After(since) {
		since = asked.AsTime()
	}
	lists, err := s.read(ctx, after, &heraldv1.ReadEventsRequest{
		OrgId: orgID, Actor: r.EditorUserId, Types: r.EventTypes, HistoryId: r.AggregateId,
		Aggregates: r.AggregateTypes, Since: timestamppb.New(since), Until: r.GetRange().GetUntil(),
		RequestId: r.RequestId, Asc: r.Asc, Limit: uint32(page.Limit),
	})
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, merge(lists, r.Asc, int(page.Limit)))
}

// list is a part of the events of one service.
type list struct {
	service string
	*heraldv1.ReadEventsResponse
}

// read asks all services at the same time.
func (s Server) read(
	ctx context.Context, after *domain.EventPosition, r *heraldv1.ReadEventsRequest,
) ([]list, error) {
	ctx, cancel := context.WithCancel(rpc.OnOwnBehalf(ctx))
	defer cancel()
	lists := make([]list, len(s.services))
	done := make(chan error, len(lists))
	for i, service := range s.services {
		of := proto.CloneOf(r)
		if after != nil {
			of.After = &heraldv1.EventPosition{
				Time: timestamppb.New(after.Time), Position: after.In(service, r.Asc),
			}
		}
		go func() {
			lists[i] = list{service, &heraldv1.ReadEventsResponse{}}
			done <- s.calls.Invoke(ctx, "/herald."+service+".v1.Events/ReadEvents", of, lists[i].ReadEventsResponse)
		}()
	}
	for range lists {
		if err := <-done; err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// found is an event at its place among those of all services.
type found struct {
	*heraldv1.StoredEvent
	at domain.EventPosition
}

// merge returns the first events of several lists. Where a service has more events than its list, the merged list ends
// with the last one of that list, because the next one of the service may be before those of the others.
func merge(lists []list, asc bool, limit int) []found {
	var all []found
	var end *domain.EventPosition
	compare := func(a, b domain.EventPosition) int {
		if asc {
			return a.Compare(b)
		}
		return b.Compare(a)
	}
	for _, l := range lists {
		var last domain.EventPosition
		for _, e := range l.GetResult() {
			last = domain.EventPosition{
				Time: e.Position.GetTime().AsTime(), Service: l.service, Position: e.Position.GetPosition(),
			}
			all = append(all, found{e, last})
		}
		if l.GetMore() && (end == nil || compare(last, *end) < 0) {
			end = &last
		}
	}
	slices.SortFunc(all, func(a, b found) int { return compare(a.at, b.at) })
	size := 0
	for i, e := range all {
		if size += len(e.Data); i == limit || size > maxPage || end != nil && compare(e.at, *end) > 0 {
			return all[:i]
		}
	}
	return all
}

// readers are the permissions with which callers see what the objects of a service are called. Whoever has only the
// permission to search sees no names of people.
var readers = map[string]string{"users": "user.read", "projects": "project.read", "idp": "org.idp.read"}

// human is the aggregate of people.
const human = "human"

// answer returns events as API callers see them.
func (s Server) answer(ctx context.Context, events []found) (*usersv1.SearchEventsResponse, error) {
	sees := func(service string) bool { return caller.From(ctx).Can(readers[service], "") }
	names := map[string]string{}
	if sees("users") {
		people := map[string]bool{}
		for _, e := range events {
			people[e.Actor] = true
			if e.Aggregate == human {
				people[e.AggregateId] = true
			}
		}
		var err error
		if names, err = s.Store.NamesOfUsers(ctx, slices.Collect(maps.Keys(people))); err != nil {
			return nil, err
		}
	}
	response := &usersv1.SearchEventsResponse{}
	for _, e := range events {
		fields, err := fields(e.Data)
		if err != nil {
			return nil, fmt.Errorf("event %s: %w", e.at, err)
		}
		editor := &usersv1.Editor{UserId: e.Actor, DisplayName: names[e.Actor]}
		if slices.Contains(s.services, e.Actor) {
			editor = &usersv1.Editor{Service: e.Actor}
		}
		aggregate := &usersv1.Aggregate{Type: e.Aggregate, Id: e.AggregateId}
		if sees(e.at.Service) {
			aggregate.Name = e.AggregateName
		}
		if e.Aggregate == human { // also if another service has the event, such as that of a login
			aggregate.Name = names[e.AggregateId]
		}
		response.Result = append(response.Result, &usersv1.AuditEvent{
			Position: e.at.String(), Id: e.Id, Type: e.Aggregate + "." + e.Name, CreationDate: e.Position.GetTime(),
			Editor: editor, OrganizationId: e.OrgId, Fields: fields, RequestId: e.RequestId,
			Aggregate: aggregate,
		})
	}
	return response, nil
}

// changed is the field of an event with the names of the fields that changed.
const changed = "changed"

// fields returns what an event's data says, sorted by name.
func fields(data []byte) ([]*usersv1.EventField, error) {
	var values map[string]any
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, err
	}
	var all []*usersv1.EventField
	for name, value := range values {
		names, several := value.([]any)
		if name != changed || !several {
			after, err := structpb.NewValue(value)
			if err != nil {
				return nil, err
			}
			all = append(all, &usersv1.EventField{Name: name, After: after})
			continue
		}
		for _, n := range names {
			all = append(all, &usersv1.EventField{Name: fmt.Sprint(n)})
		}
	}
	slices.SortFunc(all, func(a, b *usersv1.EventField) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(len(a.String()), len(b.String())))
	})
	return all, nil
}
