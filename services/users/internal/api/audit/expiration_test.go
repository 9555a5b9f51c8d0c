package audit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/testworld"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// provider stands in for the service idp: a secret of a provider ends in 10 days.
type provider struct {
	idpv1.IdpsServer
	now   func() time.Time
	asked *heraldv1.ReadExpirationsRequest
}

func (p *provider) ReadExpirations(
	_ context.Context, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	p.asked = r
	return &heraldv1.ReadExpirationsResponse{Result: []*heraldv1.Expiration{{
		Kind: heraldv1.ExpirationKind_EXPIRATION_KIND_PROVIDER_SECRET, Id: "p", Name: "Directory",
		ExpirationDate: timestamppb.New(p.now().Add(10 * 24 * time.Hour)),
	}}}, nil
}

// What expires soon is listed with what other services know, the soonest first, to those who may read it.
func TestListOfExpirations(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	list := usersv1.NewExpirationsClient(testkit.Calls(t, w.Ground, "gateway"))
	idps := &provider{now: w.Now}
	testkit.Serve(t, w.Ground, "idp", idps, &idpv1.Idps_ServiceDesc)
	_, inOrg := w.Org("Other")
	holder := w.Person(w.Admin, "holder")
	token := func(name string, in time.Duration) {
		t.Helper()
		r := &usersv1.AddPersonalAccessTokenRequest{UserId: holder, Name: name}
		if in > 0 {
			r.ExpirationDate = timestamppb.New(w.Now().Add(in))
		}
		if _, err := w.Gateway.AddPersonalAccessToken(w.Admin, r); err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * time.Hour
	token("late", 20*day)
	token("soon", 2*day)
	token("other", 40*day)
	token("forever", 0)
	names := func(in context.Context, r *usersv1.ListExpirationsRequest) (names []string) {
		t.Helper()
		got, err := list.ListExpirations(in, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Result {
			names = append(names, e.Name)
		}
		return names
	}
	for _, step := range []struct {
		r    *usersv1.ListExpirationsRequest
		want []string
	}{
		{&usersv1.ListExpirationsRequest{}, []string{"soon", "Directory", "late"}},
		{&usersv1.ListExpirationsRequest{Within: "72h"}, []string{"soon", "Directory"}}, // the stand-in has one answer
		{&usersv1.ListExpirationsRequest{Within: "41d"}, []string{"soon", "Directory", "late", "other"}},
		{&usersv1.ListExpirationsRequest{Limit: 2}, []string{"soon", "Directory"}},
	} {
		if got := names(w.Admin, step.r); !slices.Equal(got, step.want) {
			t.Errorf("%v: %q", step.r, got)
		}
	}
	if r := idps.asked; r.OrgId != w.OrgID || r.Limit != 2 || len(r.Kinds) != 7 {
		t.Errorf("idp was asked %v", r)
	}
	if got := names(inOrg, &usersv1.ListExpirationsRequest{}); !slices.Equal(got, []string{"Directory"}) {
		t.Errorf("another organization sees %q", got)
	}
	if got, err := list.ListInstanceExpirations(w.Admin, &usersv1.ListExpirationsRequest{}); err != nil ||
		len(got.Result) != 3 || idps.asked.OrgId != "" {
		t.Errorf("of the instance: %v, %v; idp was asked %v", got, err, idps.asked)
	}
	// Who may not read users sees no tokens.
	creator := w.Person(w.Admin, "mini")
	w.AddMember(w.Admin, creator, "ORG_PROJECT_CREATOR")
	c, err := w.Resolve(w.PAT(w.Admin, creator).Token, "")
	if err != nil {
		t.Fatal(err)
	}
	names(w.As(c), &usersv1.ListExpirationsRequest{})
	if len(idps.asked.Kinds) != 0 {
		t.Errorf("for ORG_PROJECT_CREATOR idp was asked %v", idps.asked)
	}
}

func TestExpirationOfAToken(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	list := usersv1.NewExpirationsClient(testkit.Calls(t, w.Ground, "gateway"))
	testkit.Serve(t, w.Ground, "idp", &provider{now: w.Now}, &idpv1.Idps_ServiceDesc)
	holder, end := w.Person(w.Admin, "holder"), timestamppb.New(w.Now().Add(time.Hour).Truncate(time.Second))
	token, err := w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{
		UserId: holder, Name: "soon", ExpirationDate: end,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := list.ListExpirations(w.Admin, &usersv1.ListExpirationsRequest{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, got.Result[0], &heraldv1.Expiration{
		Kind: heraldv1.ExpirationKind_EXPIRATION_KIND_PAT, Id: token.TokenId, Name: "soon", OrganizationId: w.OrgID,
		OwnerId: holder, ExpirationDate: end,
	})
	for _, wrong := range []string{"30", "0d", "-1d", "1w", "99999d"} {
		_, err := list.ListExpirations(w.Admin, &usersv1.ListExpirationsRequest{Within: wrong})
		testkit.Refused(t, err, "INVALID_ARGUMENT", "within")
	}
}
