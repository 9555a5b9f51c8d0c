package audit_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	idpv1 "herald/shared/gen/herald/idp/v1"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// other stands in for another service. It has one event, for everybody.
type other struct {
	service string
	asked   *heraldv1.ReadEventsRequest
	event   *heraldv1.StoredEvent
}

func (o *other) ReadEvents(
	_ context.Context, r *heraldv1.ReadEventsRequest,
) (*heraldv1.ReadEventsResponse, error) {
	o.asked = r
	return &heraldv1.ReadEventsResponse{Result: []*heraldv1.StoredEvent{o.event}}, nil
}

// others are the services beside users.
var others = map[string]*grpc.ServiceDesc{
	"auth": &authv1.Events_ServiceDesc, "idp": &idpv1.Events_ServiceDesc, "text": &textv1.Events_ServiceDesc,
	"notification": &notificationv1.Events_ServiceDesc, "projects": &projectsv1.Events_ServiceDesc,
}

// A search asks every service about the organization acted on, and no other.
func TestSearchAsksAllServices(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	search := usersv1.NewAuditClient(testkit.Calls(t, w.Ground, "gateway"))
	_, err := search.SearchEvents(w.Admin, &usersv1.SearchEventsRequest{})
	testkit.Refused(t, err, "UNAVAILABLE") // the others are away

	asked := map[string]*other{}
	for service, desc := range others {
		asked[service] = &other{service: service, event: &heraldv1.StoredEvent{
			Position: &heraldv1.EventPosition{Time: timestamppb.New(w.Now()), Position: 1}, Aggregate: service,
			Name: "changed", AggregateName: "Its name", Actor: service, Data: []byte(`{}`),
		}}
		testkit.Serve(t, w.Ground, service, asked[service], desc)
	}
	orgID, inOrg := w.Org("Other")
	lesser := w.Person(inOrg, "mini")
	w.AddMember(inOrg, lesser, "ORG_PROJECT_CREATOR")
	found, err := search.SearchEvents(inOrg, &usersv1.SearchEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range found.Result {
		types = append(types, e.Type)
		kind := e.Aggregate.Type
		if own := others[kind] == nil; own && (e.OrganizationId != orgID || e.Editor.UserId != w.AdminID ||
			e.Editor.DisplayName == "") || !own && e.Editor.Service != kind {
			t.Errorf("%v", e)
		}
		if named := e.Aggregate.Name == "Its name"; named != slices.Contains([]string{"projects", "idp"}, kind) {
			t.Errorf("%v", e.Aggregate)
		}
	}
	for service := range others {
		if r := asked[service].asked; r.GetOrgId() != orgID || !slices.Contains(types, service+".changed") {
			t.Errorf("%s was asked %v, and the answer has %q", service, r, types)
		}
	}
	if !slices.Contains(types, "member.added") {
		t.Errorf("what happened here is missing in %q", types)
	}

	found, err = search.SearchEvents(inOrg, &usersv1.SearchEventsRequest{ResourceOwner: w.OrgID})
	if err != nil || found.Result != nil {
		t.Errorf("of a foreign organization: %v, %v", found, err)
	}
	_, err = search.SearchEvents(inOrg, &usersv1.SearchEventsRequest{Limit: 1001})
	testkit.Refused(t, err, "LIMIT_EXCEEDED")
	if _, err = search.SearchInstanceEvents(w.Admin, &usersv1.SearchEventsRequest{ResourceOwner: orgID}); err != nil {
		t.Fatal(err)
	}
	if r := asked["text"].asked; r.OrgId != orgID {
		t.Errorf("the instance asks %v", r)
	}
	if _, err = search.SearchInstanceEvents(w.Admin, &usersv1.SearchEventsRequest{}); err != nil {
		t.Fatal(err)
	}
	if r := asked["text"].asked; r.OrgId != "" {
		t.Errorf("the instance asks %v", r)
	}
	_, err = search.SearchInstanceEvents(inOrg, &usersv1.SearchEventsRequest{})
	if err != nil {
		t.Errorf("an administrator of the instance: %v", err)
	}
}

// No service is asked for what is older than the setting says, whatever the request asks for.
func TestSearchGoesBackAsFarAsTheSettingSays(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	search := usersv1.NewAuditClient(testkit.Calls(t, w.Ground, "gateway"))
	idp := &other{}
	for service, desc := range others {
		o := &other{}
		if service == "idp" {
			o = idp
		}
		at := &heraldv1.EventPosition{Time: timestamppb.New(w.Now())}
		o.event = &heraldv1.StoredEvent{Position: at, Data: []byte(`{}`)}
		testkit.Serve(t, w.Ground, service, o, desc)
	}
	const year = 365 * 24 * time.Hour
	for name, c := range map[string]struct{ asks, want time.Duration }{
		"everything": {0, year}, "older": {2 * year, year}, "newer": {time.Hour, time.Hour},
	} {
		r := &usersv1.SearchEventsRequest{}
		if c.asks > 0 {
			r.Range = &usersv1.EventRange{Since: timestamppb.New(w.Now().Add(-c.asks))}
		}
		if _, err := search.SearchEvents(w.Admin, r); err != nil {
			t.Fatal(err)
		}
		if got := w.Now().Sub(idp.asked.Since.AsTime()); (got - c.want).Abs() > time.Minute {
			t.Errorf("%s: back to %v ago", name, got)
		}
	}
}
