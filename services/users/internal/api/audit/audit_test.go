package audit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	heraldv1 "herald/shared/gen/herald/v1"
)

// services stands in for the services with events, in the order of their positions.
type services struct {
	grpc.ClientConnInterface
	events map[string][]*heraldv1.StoredEvent
	// most is the largest number of events in an answer, whatever the request asks for.
	most int
}

// Invoke implements grpc.ClientConnInterface.
func (s services) Invoke(_ context.Context, procedure string, args, reply any, _ ...grpc.CallOption) error {
	service := strings.Split(procedure, ".")[1]
	if procedure != "/herald."+service+".v1.Events/ReadEvents" {
		return fmt.Errorf("call of %s", procedure)
	}
	r, answer := args.(*heraldv1.ReadEventsRequest), &heraldv1.ReadEventsResponse{}
	all := slices.Clone(s.events[service])
	if !r.Asc {
		slices.Reverse(all)
	}
	for _, e := range all {
		order := e.Position.Time.AsTime().Compare(r.After.GetTime().AsTime())
		if order == 0 {
			order = int(max(-1, min(1, e.Position.Position-r.After.GetPosition())))
		}
		if r.After != nil && (order == 0 || order > 0 != r.Asc) {
			continue
		}
		if len(answer.Result) == min(s.most, int(r.Limit)) {
			answer.More = true
			break
		}
		answer.Result = append(answer.Result, e)
	}
	proto.Merge(reply.(proto.Message), answer)
	return nil
}

// Whoever reads page after page gets each event of all services once, in order, also if services answer fewer than they
// are asked for.
func TestPagesHaveAllEventsInOrder(t *testing.T) {
	t.Parallel()
	names := []string{"auth", "projects", "text", "users"}
	random := rand.New(rand.NewPCG(1, 2))
	s := services{events: map[string][]*heraldv1.StoredEvent{}}
	var want []domain.EventPosition
	for _, name := range names {
		at := time.UnixMicro(1764220000000000).UTC()
		for n := range int64(random.IntN(40)) {
			at = at.Add(time.Duration(random.IntN(3)) * time.Microsecond) // many at the same time
			s.events[name] = append(s.events[name], &heraldv1.StoredEvent{
				Position: &heraldv1.EventPosition{Time: timestamppb.New(at), Position: n + 1},
			})
			want = append(want, domain.EventPosition{Time: at, Service: name, Position: n + 1})
		}
	}
	slices.SortFunc(want, domain.EventPosition.Compare)
	if len(want) < 40 {
		t.Fatalf("only %d events", len(want))
	}
	for _, asc := range []bool{true, false} {
		for _, most := range []int{1, 3, 1000} {
			for _, limit := range []int{1, 2, 7, 1000} {
				s.most = most
				server := Server{services: names, calls: s}
				var got []domain.EventPosition
				var after *domain.EventPosition
				for range len(want) + 1 {
					lists, err := server.read(t.Context(), after,
						&heraldv1.ReadEventsRequest{Asc: asc, Limit: uint32(limit)})
					if err != nil {
						t.Fatal(err)
					}
					page := merge(lists, asc, limit)
					if len(page) == 0 {
						break
					}
					for _, e := range page {
						got = append(got, e.at)
					}
					after = &got[len(got)-1]
				}
				if !asc {
					slices.Reverse(got)
				}
				if !slices.Equal(got, want) {
					t.Errorf("ascending %t, at most %d of a service, limit %d:\n%v\nwant\n%v", asc, most, limit, got,
						want)
				}
			}
		}
	}
}

// One service that does not answer fails the search: a list without its events would look as if nothing had happened.
func TestSearchFailsWithoutAService(t *testing.T) {
	t.Parallel()
	server := Server{services: []string{"users", "no.such"}, calls: services{most: 10}}
	if lists, err := server.read(t.Context(), nil, &heraldv1.ReadEventsRequest{Limit: 1}); err == nil {
		t.Errorf("%v", lists)
	}
}

func TestFieldsOfAnEvent(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{}`: "",
		`{"changed": ["name", "isAutoUpdate"], "cause": "e1"}`: "cause=e1 isAutoUpdate name",
		`{"roleKeys": ["a", "b"], "generation": "2"}`:          "generation=2 roleKeys=[a b]",
		`{"changed": "yes"}`:                                   "changed=yes",
	} {
		all, err := fields([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range all {
			if f.After == nil {
				got = append(got, f.Name)
			} else {
				got = append(got, fmt.Sprintf("%s=%v", f.Name, f.After.AsInterface()))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", data, got)
		}
	}
	if _, err := fields([]byte("[]")); err == nil {
		t.Error("no object")
	}
}
