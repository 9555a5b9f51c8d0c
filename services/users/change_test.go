package users_test

import (
	"slices"
	"strings"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// kinds returns the events of a list, newest first, each with the editor.
func kinds(r *heraldv1.SearchChangesResponse) (all []string) {
	for _, c := range r.GetResult() {
		all = append(all, c.EventType+" by "+c.EditorId)
	}
	return all
}

func TestChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "ada")
	if _, err := w.gateway.AddOrgMember(w.admin, &usersv1.AddMemberRequest{UserId: id,
		Roles: []string{"ORG_OWNER_VIEWER"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{UserId: id,
		Email: "new@example.com"}); err != nil {
		t.Fatal(err)
	}
	added, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.RemovePersonalAccessToken(w.admin, &usersv1.RemovePersonalAccessTokenRequest{UserId: id,
		TokenId: added.TokenId}); err != nil {
		t.Fatal(err)
	}
	ada := w.login(w.admin, id, "")
	want := []string{
		"pat.added by " + w.adminID, "pat.removed by " + w.adminID, "pat.added by " + w.adminID,
		"human.email_changed by " + w.adminID, "member.added by " + w.adminID, "human.imported by " + w.adminID,
	}
	got, err := w.gateway.SearchUserChanges(w.admin, &usersv1.SearchUserChangesRequest{UserId: id})
	if err != nil || !slices.Equal(kinds(got), want) || got.Details.TotalResult != 6 {
		t.Errorf("%v, %v", got, err)
	}
	if c := got.Result[1]; c.ObjectId != added.TokenId || got.Result[5].ObjectId != id {
		t.Errorf("changes of other objects: %v", got)
	}
	if strings.Contains(got.String(), "example.com") {
		t.Errorf("the history tells addresses: %v", got)
	}
	mine, err := w.gateway.SearchMyChanges(ada,
		&usersv1.SearchMyChangesRequest{Query: &heraldv1.ListQuery{Limit: 1, Asc: true}})
	if err != nil || !slices.Equal(kinds(mine), want[5:]) {
		t.Errorf("%v, %v", mine, err)
	}

	org, in := w.org("Acme")
	if _, err := w.gateway.UpdateMyOrg(in, &usersv1.UpdateMyOrgRequest{Name: "Acme Ltd"}); err != nil {
		t.Fatal(err)
	}
	changes, err := w.gateway.SearchMyOrgChanges(in, &usersv1.SearchMyOrgChangesRequest{})
	if err != nil || !slices.Equal(kinds(changes), []string{"org.changed by " + w.adminID, "org.created by " +
		w.adminID}) || org == w.orgID {
		t.Errorf("%v, %v", changes, err)
	}

	_, err = w.gateway.SearchUserChanges(w.admin, &usersv1.SearchUserChangesRequest{
		UserId: id, Query: &heraldv1.ListQuery{Limit: 1001},
	})
	refused(t, err, "LIMIT_EXCEEDED")
}
