package orgs_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestOrganizationHasAUniqueNameAndKeepsItsDomain(t *testing.T) {
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

func TestTokensWorkOnlyInActiveOrganizations(t *testing.T) {
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

func TestOrganizationIsFoundByItsNameInAnotherCase(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, _ := w.Org("Straße")
	found, err := w.Gateway.SearchOrgs(w.Admin, &usersv1.SearchOrgsRequest{Queries: []*usersv1.OrgFilter{{
		NameQuery: &usersv1.OrgNameQuery{
			Name: "STRASSE", Method: heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE,
		},
	}}})
	if err != nil || len(found.Result) != 1 || found.Result[0].Id != id {
		t.Errorf("%v, %v", found, err)
	}
}

// A manager of settings cannot deactivate or remove the organization of its owners.
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
