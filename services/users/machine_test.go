package users_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// machine creates a machine user of an organization and returns the id.
func (w *world) machine(ctx context.Context, name string) string {
	w.Helper()
	r, err := w.gateway.CreateMachineUser(ctx, &usersv1.CreateMachineUserRequest{UserName: name, Name: name})
	if err != nil {
		w.Fatal(err)
	}
	return r.UserId
}

func TestMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, err := w.gateway.CreateMachineUser(w.admin, &usersv1.CreateMachineUserRequest{
		UserName: " ci ", Name: " CI ", Description: " builds ",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &usersv1.User{
		Id: made.UserId, Details: made.Details, State: usersv1.UserState_USER_STATE_ACTIVE, UserName: "ci",
		LoginNames: []string{"ci"}, PreferredLoginName: "ci",
		Type: &usersv1.User_Machine{Machine: &usersv1.Machine{
			Name: "CI", Description: "builds", AccessTokenType: heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_BEARER,
		}},
	}
	if got := w.user(made.UserId); !proto.Equal(got, want) || made.Details.CreationDate == nil ||
		made.Details.ResourceOwner != w.orgID {
		t.Errorf("%v", got)
	}
	list, err := w.gateway.SearchUsers(w.admin, &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
		{TypeQuery: &usersv1.UserTypeQuery{Type: usersv1.UserType_USER_TYPE_MACHINE}},
	}})
	if err != nil || len(list.Result) != 1 || !proto.Equal(list.Result[0], want) {
		t.Errorf("%v, %v", list, err)
	}
	list, err = w.gateway.SearchUsers(w.admin, &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
		{TypeQuery: &usersv1.UserTypeQuery{Type: usersv1.UserType_USER_TYPE_HUMAN}},
	}})
	if err != nil || len(list.Result) != 1 || list.Result[0].Id != w.adminID {
		t.Errorf("people: %v, %v", list, err)
	}

	to := &usersv1.UpdateMachineUserRequest{UserId: made.UserId, UserName: "cd", Name: "CD",
		AccessTokenType: heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_JWT}
	changed, err := w.gateway.UpdateMachineUser(w.admin, to)
	if err != nil || changed.UserId != made.UserId || changed.Details.CreationDate != nil ||
		changed.Details.Sequence <= made.Details.Sequence {
		t.Fatalf("%v, %v", changed, err)
	}
	again, err := w.gateway.UpdateMachineUser(w.admin, to)
	if err != nil || !proto.Equal(again, changed) {
		t.Errorf("the same again answered %v, %v; want %v", again, err, changed)
	}
	got := w.user(made.UserId)
	if !proto.Equal(got.GetMachine(), &usersv1.Machine{Name: "CD", AccessTokenType: to.AccessTokenType}) ||
		got.PreferredLoginName != "cd" || got.Details.Sequence != changed.Details.Sequence {
		t.Errorf("%v", got)
	}
	history, err := w.gateway.SearchUserChanges(w.admin, &usersv1.SearchUserChangesRequest{UserId: made.UserId})
	if err != nil || !slices.Equal(kinds(history), []string{
		"machine.changed by " + w.adminID, "machine.created by " + w.adminID,
	}) {
		t.Errorf("%v, %v", history, err)
	}
	w.machine(w.admin, "ci") // the name is free again
	if w.rows(`events where name = 'changed' and aggregate_id = $1 and data =
		'{"changed": ["userName", "name", "description", "accessTokenType"]}'`, made.UserId) != 1 {
		t.Error("the event does not name the fields")
	}
}

func TestMachinesRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ci := w.machine(w.admin, "ci")
	_, in := w.org("A")
	before := w.rows("events")
	for label, c := range map[string]struct {
		request *usersv1.UpdateMachineUserRequest
		id      string
		part    string
	}{
		"taken": {&usersv1.UpdateMachineUserRequest{UserName: "ADMIN", Name: "x"}, "USER_NAME_TAKEN", ""},
		"no user name": {&usersv1.UpdateMachineUserRequest{UserName: " ", Name: "x"},
			"INVALID_ARGUMENT", "userName"},
		"no name": {&usersv1.UpdateMachineUserRequest{UserName: "x"}, "INVALID_ARGUMENT", "name"},
		"long name": {&usersv1.UpdateMachineUserRequest{UserName: "x", Name: strings.Repeat("é", 201)},
			"INVALID_ARGUMENT", "name"},
		"line in the name": {&usersv1.UpdateMachineUserRequest{UserName: "x", Name: "a\nb"},
			"INVALID_ARGUMENT", "name"},
		"long description": {&usersv1.UpdateMachineUserRequest{
			UserName: "x", Name: "x", Description: strings.Repeat("é", 501),
		}, "INVALID_ARGUMENT", "description"},
		"look-alike": {&usersv1.UpdateMachineUserRequest{UserName: "ad\u200bmin", Name: "x"},
			"INVALID_ARGUMENT", "userName: must hold no invisible or control characters"},
		"unknown type": {&usersv1.UpdateMachineUserRequest{UserName: "x", Name: "x", AccessTokenType: 3},
			"INVALID_ARGUMENT", "accessTokenType"},
	} {
		t.Run(label, func(t *testing.T) {
			_, err := w.gateway.CreateMachineUser(w.admin, &usersv1.CreateMachineUserRequest{
				UserName: c.request.UserName, Name: c.request.Name, Description: c.request.Description,
				AccessTokenType: c.request.AccessTokenType,
			})
			refused(t, err, c.id, c.part)
			c.request.UserId = ci
			_, err = w.gateway.UpdateMachineUser(w.admin, c.request)
			refused(t, err, c.id, c.part)
		})
	}
	update := func(ctx context.Context, id string) error {
		_, err := w.gateway.UpdateMachineUser(ctx, &usersv1.UpdateMachineUserRequest{
			UserId: id, UserName: "x", Name: "x",
		})
		return err
	}
	refused(t, update(w.admin, w.adminID), "USER_NOT_MACHINE")
	refused(t, update(w.admin, "nobody"), "USER_NOT_FOUND")
	refused(t, update(in, ci), "USER_NOT_FOUND")
	if w.rows("events") != before {
		t.Error("something was written")
	}
	// The longest allowed values.
	if _, err := w.gateway.CreateMachineUser(w.admin, &usersv1.CreateMachineUserRequest{
		UserName: strings.Repeat("é", 200), Name: strings.Repeat("é", 200), Description: strings.Repeat("é", 500),
	}); err != nil {
		t.Error(err)
	}
	// A machine has no e-mail and no password.
	refused(t, w.setPassword(ci, "correct horse battery", false), "USER_NOT_HUMAN")
	_, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{UserId: ci, Email: "ci@example.com"})
	refused(t, err, "USER_NOT_HUMAN")
}

// Callers who lack a permission of a machine cannot change it.
func TestMachinesEscalation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	orgA, in := w.org("A")
	deploy := w.machine(in, "deploy")
	w.addMember(in, deploy, "ORG_OWNER")
	manager := w.person(in, "manager")
	w.addMember(in, manager, "ORG_USER_MANAGER")
	ctx := w.login(in, manager, orgA)
	if id := w.machine(ctx, "helper"); id == "" {
		t.Error("a user manager creates no machine")
	}
	_, err := w.gateway.UpdateMachineUser(ctx, &usersv1.UpdateMachineUserRequest{
		UserId: deploy, UserName: "x", Name: "x",
	})
	refused(t, err, "ESCALATION", "in organization "+orgA)
}

// Of many people and machines that are created at once with the same name one succeeds.
func TestMachineNamesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := make([]string, 10)
	for i := range ids {
		ids[i] = w.machine(w.admin, fmt.Sprint("machine", i))
	}
	if n := testkit.Race(t, 30, func(i int) error {
		switch i % 3 {
		case 0:
			_, err := w.gateway.CreateMachineUser(w.admin, &usersv1.CreateMachineUserRequest{
				UserName: "One", Name: "x",
			})
			return err
		case 1:
			_, err := w.gateway.UpdateMachineUser(w.admin, &usersv1.UpdateMachineUserRequest{
				UserId: ids[i/3], UserName: "ONE", Name: "x",
			})
			return err
		default:
			_, err := w.gateway.ImportHumanUser(w.admin, minimal("one"))
			return err
		}
	}, "USER_NAME_TAKEN"); n != 1 {
		t.Errorf("%d of 30 got the name", n)
	}
	if w.rows("users where user_name_folded = 'one'") != 1 {
		t.Error("the name is not one user's")
	}
}

// Many changes of a machine at once all succeed, and the last one is stored.
func TestMachineChangesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.machine(w.admin, "ci")
	answers := make([]*heraldv1.ObjectDetails, 20)
	if n := testkit.Race(t, 20, func(i int) error {
		r, err := w.gateway.UpdateMachineUser(w.admin, &usersv1.UpdateMachineUserRequest{
			UserId: id, UserName: "ci", Name: fmt.Sprint(i),
		})
		answers[i] = r.GetDetails()
		return err
	}); n != 20 {
		t.Fatalf("%d of 20 succeeded", n)
	}
	last := slices.MaxFunc(answers, func(a, b *heraldv1.ObjectDetails) int { return int(a.Sequence) - int(b.Sequence) })
	got := w.user(id)
	if got.Details.Sequence != last.Sequence || got.GetMachine().Name != fmt.Sprint(slices.Index(answers, last)) ||
		w.rows("events where name = 'changed' and aggregate_id = $1", id) != 20 {
		t.Errorf("%v after %v", got, last)
	}
}
