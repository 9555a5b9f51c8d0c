package orgs_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestOrganizations(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	made, err := w.Gateway.CreateOrg(w.Admin, &usersv1.CreateOrgRequest{Name: " Déjà Vu AG "})
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Gateway.GetOrg(w.Admin, &usersv1.GetOrgRequest{OrgId: made.Id})
	if err != nil || got.Org.Name != "Déjà Vu AG" || got.Org.PrimaryDomain != "deja-vu-ag.localhost" ||
		!proto.Equal(got.Org.Details, made.Details) {
		t.Fatalf("%v, %v", got, err)
	}
	_, err = w.Gateway.CreateOrg(w.Admin, &usersv1.CreateOrgRequest{Name: "DÉJÀ vu ag"})
	testkit.Refused(t, err, "ORG_NAME_TAKEN")
	alike, err := w.Gateway.CreateOrg(w.Admin, &usersv1.CreateOrgRequest{Name: "Deja-Vu, AG"}) // has the same slug
	if err != nil || w.Rows("organizations where primary_domain = 'deja-vu-ag-' || right($1, 12) || '.localhost'",
		alike.GetId()) != 1 {
		t.Errorf("a name with a slug that is taken: %v", err)
	}
	if _, err := w.Gateway.CreateOrg(w.Admin, &usersv1.CreateOrgRequest{Name: "日本"}); err != nil {
		t.Errorf("a name without a slug: %v", err)
	}
	for _, name := range []string{"", "  ", "a\nb"} {
		_, err = w.Gateway.CreateOrg(w.Admin, &usersv1.CreateOrgRequest{Name: name})
		testkit.Refused(t, err, "INVALID_ARGUMENT", "name")
	}
	_, err = w.Gateway.GetOrg(w.Admin, &usersv1.GetOrgRequest{OrgId: "nowhere"})
	testkit.Refused(t, err, "ORG_NOT_FOUND")

	c, err := w.Resolve(w.AdminToken, made.Id)
	if err != nil {
		t.Fatal(err)
	}
	in := w.As(c)
	renamed, err := w.Gateway.UpdateMyOrg(in, &usersv1.UpdateMyOrgRequest{Name: "Presque Vu"})
	if err != nil || renamed.Details.CreationDate != nil || renamed.Details.Sequence <= made.Details.Sequence {
		t.Fatalf("%v, %v", renamed, err)
	}
	again, err := w.Gateway.UpdateMyOrg(in, &usersv1.UpdateMyOrgRequest{Name: "Presque Vu"})
	if err != nil || !proto.Equal(again, renamed) {
		t.Errorf("the same name again answered %v, %v; want %v", again, err, renamed)
	}
	mine, err := w.Gateway.GetMyOrg(in, &usersv1.GetMyOrgRequest{})
	if err != nil || mine.Org.Name != "Presque Vu" || mine.Org.PrimaryDomain != "deja-vu-ag.localhost" ||
		mine.Org.Details.Sequence != renamed.Details.Sequence {
		t.Errorf("%v, %v", mine, err)
	}
}

func TestOrganizationStates(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	id := w.Person(inA, "mini")
	w.AddMember(inA, id, "ORG_OWNER")
	pat := w.PAT(inA, id)
	_, err := w.Gateway.ReactivateMyOrg(inA, &usersv1.ReactivateMyOrgRequest{})
	testkit.Refused(t, err, "ORG_NOT_INACTIVE")
	testkit.Once(t, 20, func(int) error {
		_, err := w.Gateway.DeactivateMyOrg(inA, &usersv1.DeactivateMyOrgRequest{})
		return err
	}, "ORG_NOT_ACTIVE")
	_, err = w.Resolve(pat.Token, "")
	testkit.Refused(t, err, "TOKEN_INVALID")
	if _, err := w.Resolve(w.AdminToken, orgA); err != nil {
		t.Errorf("the instance's owner in an inactive organization: %v", err)
	}
	w.Must(w.Gateway.ReactivateMyOrg(inA, &usersv1.ReactivateMyOrgRequest{}))
	if _, err := w.Resolve(pat.Token, ""); err != nil {
		t.Errorf("the token works again after reactivation: %v", err)
	}
}

func TestSearches(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("Straße")
	ids := []string{w.Person(inA, "anna"), w.Person(inA, "Åsa_1"), w.Person(inA, "bob%")}
	type user = usersv1.UserFilter
	name := func(method heraldv1.TextQueryMethod, text string) *user {
		return &user{UserNameQuery: &usersv1.UserNameQuery{UserName: text, Method: method}}
	}
	for label, c := range map[string]struct {
		filters []*user
		want    []int
	}{
		"all, newest first":  {nil, []int{2, 1, 0}},
		"equals":             {[]*user{name(0, "anna")}, []int{0}},
		"equals, other case": {[]*user{name(0, "ANNA")}, nil},
		"ignoring case":      {[]*user{name(1, "A\u030aSA_1")}, []int{1}},
		"starts":             {[]*user{name(2, "a")}, []int{0}},
		"starts anyhow":      {[]*user{name(3, "A")}, []int{0}},
		"contains percent":   {[]*user{name(4, "%")}, []int{2}},
		"contains underline": {[]*user{name(5, "A_")}, []int{1}},
		"ends":               {[]*user{name(6, "b%")}, []int{2}},
		"empty contains all": {[]*user{name(4, "")}, []int{2, 1, 0}},
		"empty equals none":  {[]*user{name(0, "")}, nil},
		"and": {[]*user{name(4, "a"), {EmailQuery: &usersv1.EmailQuery{Email: "mini@example.com"},
			TypeQuery: &usersv1.UserTypeQuery{Type: usersv1.UserType_USER_TYPE_HUMAN}}}, []int{1, 0}},
		"state": {[]*user{{StateQuery: &usersv1.UserStateQuery{State: usersv1.UserState_USER_STATE_INITIAL}}}, nil},
	} {
		got, err := w.Gateway.SearchUsers(inA, &usersv1.SearchUsersRequest{Queries: c.filters})
		if err != nil || len(got.Result) != len(c.want) || got.Details.TotalResult != uint64(len(c.want)) {
			t.Errorf("%s: %v, %v", label, got, err)
			continue
		}
		for i, n := range c.want {
			if got.Result[i].Id != ids[n] {
				t.Errorf("%s: result %d is %s", label, i, got.Result[i].UserName)
			}
		}
	}
	page, err := w.Gateway.SearchUsers(inA,
		&usersv1.SearchUsersRequest{Query: &heraldv1.ListQuery{Offset: 10, Limit: 1, Asc: true}})
	if err != nil || len(page.Result) != 0 || page.Details.TotalResult != 3 || page.Details.ProcessedSequence == 0 ||
		page.Details.ViewTimestamp == nil {
		t.Errorf("a page beyond the end: %v, %v", page, err)
	}
	_, err = w.Gateway.SearchUsers(inA, &usersv1.SearchUsersRequest{Queries: []*user{{}}})
	testkit.Refused(t, err, "INVALID_ARGUMENT", "queries[0]")
	_, err = w.Gateway.SearchUsers(inA, &usersv1.SearchUsersRequest{Query: &heraldv1.ListQuery{Limit: 1001}})
	testkit.Refused(t, err, "LIMIT_EXCEEDED", "1000")
	_, err = w.Gateway.SearchUsers(inA, &usersv1.SearchUsersRequest{Query: &heraldv1.ListQuery{Limit: -1}})
	testkit.Refused(t, err, "INVALID_ARGUMENT", "query.limit")
	orgs, err := w.Gateway.SearchOrgs(w.Admin,
		&usersv1.SearchOrgsRequest{Queries: []*usersv1.OrgFilter{{NameQuery: &usersv1.OrgNameQuery{Name: "STRASSE",
			Method: 1}}}})
	if err != nil || len(orgs.Result) != 1 || orgs.Result[0].Id != orgA {
		t.Errorf("organizations: %v, %v", orgs, err)
	}
}

// Hostile case 30: a manager of settings cannot deactivate or remove the organization of its owners.
func TestSettingsManagerCannotEndAnOrganization(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	id := w.Person(inA, "settings")
	w.AddMember(inA, id, "ORG_SETTINGS_MANAGER")
	as := w.Login(inA, id, "")
	_, err := w.Gateway.DeactivateMyOrg(as, &usersv1.DeactivateMyOrgRequest{})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.delete", orgA)
	_, err = w.Gateway.ReactivateMyOrg(as, &usersv1.ReactivateMyOrgRequest{})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.delete", orgA)
	_, err = w.Gateway.RemoveMyOrg(as, &usersv1.RemoveMyOrgRequest{})
	testkit.Refused(t, err, "PERMISSION_DENIED", "org.delete", orgA)
}
