package event_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/caller"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
)

// Each filter leaves out what does not match, and pages follow each other in both directions.
func TestReadEvents(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	start := time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
	for i, e := range []struct{ org, id, actor, request string }{
		{"org-1", "a", "ada", "r1"}, {"org-1", "b", "ada", "r2"}, {"org-2", "c", "bob", "r2"},
		{"org-1", "a", "bob", ""},
	} {
		r.Now = func() time.Time { return start.Add(time.Duration(i) * time.Minute) }
		ctx := caller.With(rpc.WithRequestID(t.Context(), e.request), caller.Caller{UserID: e.actor})
		_, err := r.Create(ctx, &usersv1.OrgChanged{Changed: []string{fmt.Sprint(i)}},
			event.Statement{AggregateID: e.id, OrganizationID: e.org})
		if err != nil {
			t.Fatal(err)
		}
	}
	reader := event.Reader{Journal: r.Journal, Names: "(select 'Ms ' || e.aggregate_id where e.aggregate_id <> 'b')"}
	read := func(q *heraldv1.ReadEventsRequest) (got string, more bool) {
		t.Helper()
		response, err := reader.ReadEvents(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range response.Result {
			got += fmt.Sprintf("%s,%s,%s,%s ", e.AggregateId, e.OrgId, e.Actor, e.RequestId)
		}
		return strings.TrimSpace(got), response.More
	}
	const a, b, c, d = "a,org-1,ada,r1", "b,org-1,ada,r2", "c,org-2,bob,r2", "a,org-1,bob,"
	minute := func(n int) *timestamppb.Timestamp { return timestamppb.New(start.Add(time.Duration(n) * time.Minute)) }
	for _, step := range []struct {
		q    *heraldv1.ReadEventsRequest
		want []string
	}{
		{&heraldv1.ReadEventsRequest{}, []string{d, c, b, a}},
		{&heraldv1.ReadEventsRequest{Asc: true}, []string{a, b, c, d}},
		{&heraldv1.ReadEventsRequest{OrgId: "org-1"}, []string{d, b, a}},
		{&heraldv1.ReadEventsRequest{OrgId: "org-1", Actor: "ada"}, []string{b, a}},
		{&heraldv1.ReadEventsRequest{HistoryId: "a"}, []string{d, a}},
		{&heraldv1.ReadEventsRequest{RequestId: "r2"}, []string{c, b}},
		{&heraldv1.ReadEventsRequest{Types: []string{"org.changed"}, Actor: "bob"}, []string{d, c}},
		{&heraldv1.ReadEventsRequest{Types: []string{"org.removed"}}, nil},
		{&heraldv1.ReadEventsRequest{Aggregates: []string{"user", "org"}, Actor: "bob"}, []string{d, c}},
		{&heraldv1.ReadEventsRequest{Aggregates: []string{"user"}}, nil},
		{&heraldv1.ReadEventsRequest{Since: minute(1), Until: minute(3)}, []string{c, b}},
		{&heraldv1.ReadEventsRequest{After: &heraldv1.EventPosition{Time: minute(2)}}, []string{b, a}},
		{&heraldv1.ReadEventsRequest{After: &heraldv1.EventPosition{Time: minute(2), Position: 1 << 40}},
			[]string{c, b, a}},
		{&heraldv1.ReadEventsRequest{After: &heraldv1.EventPosition{Time: minute(2)}, Asc: true}, []string{c, d}},
		{&heraldv1.ReadEventsRequest{After: &heraldv1.EventPosition{Time: minute(2), Position: 1 << 40}, Asc: true},
			[]string{d}},
	} {
		step.q.Limit = 10
		if got, more := read(step.q); got != strings.Join(step.want, " ") || more {
			t.Errorf("%v: %s, more: %t", step.q, got, more)
		}
	}
	if got, more := read(&heraldv1.ReadEventsRequest{Limit: 3}); got != d+" "+c+" "+b || !more {
		t.Errorf("three: %s, more: %t", got, more)
	}
	response, err := reader.ReadEvents(t.Context(), &heraldv1.ReadEventsRequest{Limit: 4, Asc: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range response.Result {
		names = append(names, e.AggregateName)
	}
	if want := []string{"Ms a", "", "Ms c", "Ms a"}; !slices.Equal(names, want) {
		t.Errorf("names %q", names)
	}
	if data := string(response.Result[3].Data); data != `{"changed": ["3"]}` {
		t.Errorf("%s", data)
	}
}

// An answer is no larger than a message of NATS may be, however large the events are.
func TestLargeEventsAreReadInParts(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	const n = 300
	_, err := r.DB.Exec(t.Context(), `insert into events
			(id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select 'e' || n, 'org', 'a', 'a', 'changed', 'org-1', 'ada', jsonb_build_object('x', repeat('x', $2)), now()
		from generate_series(1, $1::int) n`, n, event.MaxData)
	if err != nil {
		t.Fatal(err)
	}
	read, answers := 0, 0
	q := &heraldv1.ReadEventsRequest{Limit: 1000}
	for more := true; more; answers++ {
		response, err := event.Reader{Journal: r.Journal}.ReadEvents(t.Context(), q)
		if err != nil || len(response.Result) == 0 {
			t.Fatalf("%v, %v", response, err)
		}
		read, more = read+len(response.Result), response.More
		q.After = response.Result[len(response.Result)-1].Position
	}
	if read != n || answers != 2 {
		t.Errorf("%d events in %d answers", read, answers)
	}
}
