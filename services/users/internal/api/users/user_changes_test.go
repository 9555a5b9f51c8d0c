package users_test

import (
	"slices"
	"strings"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "ada")
	w.Must(w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{UserId: id,
		Roles: []string{"ORG_OWNER_VIEWER"}}))
	w.Must(w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{UserId: id,
		Email: "new@example.com"}))
	added := w.PAT(w.Admin, id)
	w.Must(w.Gateway.RemovePersonalAccessToken(w.Admin, &usersv1.RemovePersonalAccessTokenRequest{UserId: id,
		TokenId: added.TokenId}))
	ada := w.Login(w.Admin, id, "")
	want := []string{
		"pat.added by " + w.AdminID, "pat.removed by " + w.AdminID, "pat.added by " + w.AdminID,
		"human.email_changed by " + w.AdminID, "member.added by " + w.AdminID, "human.imported by " + w.AdminID,
	}
	got, err := w.Gateway.SearchUserChanges(w.Admin, &usersv1.SearchUserChangesRequest{UserId: id})
	if err != nil || !slices.Equal(testworld.EventTypes(got), want) || got.Details.TotalResult != 6 {
		t.Errorf("%v, %v", got, err)
	}
	if c := got.Result[1]; c.ObjectId != added.TokenId || got.Result[5].ObjectId != id {
		t.Errorf("changes of other objects: %v", got)
	}
	if strings.Contains(got.String(), "example.com") {
		t.Errorf("the history contains addresses: %v", got)
	}
	mine, err := w.Gateway.SearchMyChanges(ada,
		&usersv1.SearchMyChangesRequest{Query: &heraldv1.ListQuery{Limit: 1, Asc: true}})
	if err != nil || !slices.Equal(testworld.EventTypes(mine), want[5:]) {
		t.Errorf("%v, %v", mine, err)
	}

	org, in := w.Org("Acme")
	w.Must(w.Gateway.UpdateMyOrg(in, &usersv1.UpdateMyOrgRequest{Name: "Acme Ltd"}))
	changes, err := w.Gateway.SearchMyOrgChanges(in, &usersv1.SearchMyOrgChangesRequest{})
	want = []string{"org.changed by " + w.AdminID, "org.created by " + w.AdminID}
	if err != nil || !slices.Equal(testworld.EventTypes(changes), want) || org == w.OrgID {
		t.Errorf("%v, %v", changes, err)
	}

	_, err = w.Gateway.SearchUserChanges(w.Admin, &usersv1.SearchUserChangesRequest{
		UserId: id, Query: &heraldv1.ListQuery{Limit: 1001},
	})
	testkit.Refused(t, err, "LIMIT_EXCEEDED")
}
