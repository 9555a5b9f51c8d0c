package machines_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestMachines(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	made, err := w.Gateway.CreateMachineUser(w.Admin, &usersv1.CreateMachineUserRequest{
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
	if got := w.User(made.UserId); !proto.Equal(got, want) || made.Details.CreationDate == nil ||
		made.Details.ResourceOwner != w.OrgID {
		t.Errorf("%v", got)
	}
	list, err := w.Gateway.SearchUsers(w.Admin, &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
		{TypeQuery: &usersv1.UserTypeQuery{Type: usersv1.UserType_USER_TYPE_MACHINE}},
	}})
	if err != nil || len(list.Result) != 1 || !proto.Equal(list.Result[0], want) {
		t.Errorf("%v, %v", list, err)
	}
	list, err = w.Gateway.SearchUsers(w.Admin, &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
		{TypeQuery: &usersv1.UserTypeQuery{Type: usersv1.UserType_USER_TYPE_HUMAN}},
	}})
	if err != nil || len(list.Result) != 1 || list.Result[0].Id != w.AdminID {
		t.Errorf("people: %v, %v", list, err)
	}

	to := &usersv1.UpdateMachineUserRequest{UserId: made.UserId, UserName: "cd", Name: "CD",
		AccessTokenType: heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_JWT}
	changed, err := w.Gateway.UpdateMachineUser(w.Admin, to)
	if err != nil || changed.UserId != made.UserId || changed.Details.CreationDate != nil ||
		changed.Details.Sequence <= made.Details.Sequence {
		t.Fatalf("%v, %v", changed, err)
	}
	again, err := w.Gateway.UpdateMachineUser(w.Admin, to)
	if err != nil || !proto.Equal(again, changed) {
		t.Errorf("the same again answered %v, %v; want %v", again, err, changed)
	}
	got := w.User(made.UserId)
	if !proto.Equal(got.GetMachine(), &usersv1.Machine{Name: "CD", AccessTokenType: to.AccessTokenType}) ||
		got.PreferredLoginName != "cd" || got.Details.Sequence != changed.Details.Sequence {
		t.Errorf("%v", got)
	}
	history, err := w.Gateway.SearchUserChanges(w.Admin, &usersv1.SearchUserChangesRequest{UserId: made.UserId})
	if err != nil || !slices.Equal(testworld.EventTypes(history), []string{
		"machine.changed by " + w.AdminID, "machine.created by " + w.AdminID,
	}) {
		t.Errorf("%v, %v", history, err)
	}
	w.Machine(w.Admin, "ci") // the name is free again
	if w.Rows(`events where name = 'changed' and aggregate_id = $1 and data =
		'{"changed": ["userName", "name", "description", "accessTokenType"]}'`, made.UserId) != 1 {
		t.Error("the event does not name the fields")
	}
}

func TestMachinesRefused(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	ci := w.Machine(w.Admin, "ci")
	_, in := w.Org("A")
	before := w.Rows("events")
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
			_, err := w.Gateway.CreateMachineUser(w.Admin, &usersv1.CreateMachineUserRequest{
				UserName: c.request.UserName, Name: c.request.Name, Description: c.request.Description,
				AccessTokenType: c.request.AccessTokenType,
			})
			testkit.Refused(t, err, c.id, c.part)
			c.request.UserId = ci
			_, err = w.Gateway.UpdateMachineUser(w.Admin, c.request)
			testkit.Refused(t, err, c.id, c.part)
		})
	}
	update := func(ctx context.Context, id string) error {
		_, err := w.Gateway.UpdateMachineUser(ctx, &usersv1.UpdateMachineUserRequest{
			UserId: id, UserName: "x", Name: "x",
		})
		return err
	}
	testkit.Refused(t, update(w.Admin, w.AdminID), "USER_NOT_MACHINE")
	testkit.Refused(t, update(w.Admin, "nobody"), "USER_NOT_FOUND")
	testkit.Refused(t, update(in, ci), "USER_NOT_FOUND")
	if w.Rows("events") != before {
		t.Error("something was written")
	}
	// The longest allowed values.
	w.Must(w.Gateway.CreateMachineUser(w.Admin, &usersv1.CreateMachineUserRequest{
		UserName: strings.Repeat("é", 200), Name: strings.Repeat("é", 200), Description: strings.Repeat("é", 500),
	}))
	// A machine has no e-mail and no password.
	testkit.Refused(t, w.SetPassword(ci, "correct horse battery", false), "USER_NOT_HUMAN")
	_, err := w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{UserId: ci, Email: "ci@example.com"})
	testkit.Refused(t, err, "USER_NOT_HUMAN")
}

// Callers who lack a permission of a machine cannot change it.
func TestMachinesEscalation(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, in := w.Org("A")
	deploy := w.Machine(in, "deploy")
	w.AddMember(in, deploy, "ORG_OWNER")
	manager := w.Person(in, "manager")
	w.AddMember(in, manager, "ORG_USER_MANAGER")
	ctx := w.Login(in, manager, orgA)
	if id := w.Machine(ctx, "helper"); id == "" {
		t.Error("a user manager creates no machine")
	}
	_, err := w.Gateway.UpdateMachineUser(ctx, &usersv1.UpdateMachineUserRequest{
		UserId: deploy, UserName: "x", Name: "x",
	})
	testkit.Refused(t, err, "ESCALATION", "in organization "+orgA)
}

// Of many people and machines that are created at once with the same name one succeeds.
func TestMachineNamesAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	ids := make([]string, 10)
	for i := range ids {
		ids[i] = w.Machine(w.Admin, fmt.Sprint("machine", i))
	}
	testkit.Once(t, 30, func(i int) error {
		switch i % 3 {
		case 0:
			_, err := w.Gateway.CreateMachineUser(w.Admin, &usersv1.CreateMachineUserRequest{
				UserName: "One", Name: "x",
			})
			return err
		case 1:
			_, err := w.Gateway.UpdateMachineUser(w.Admin, &usersv1.UpdateMachineUserRequest{
				UserId: ids[i/3], UserName: "ONE", Name: "x",
			})
			return err
		default:
			_, err := w.Gateway.ImportHumanUser(w.Admin, testworld.Minimal("one"))
			return err
		}
	}, "USER_NAME_TAKEN")
	if w.Rows("users where user_name_folded = 'one'") != 1 {
		t.Error("the name is not one user's")
	}
}

// Many changes of a machine at once all succeed, and the last one is stored.
func TestMachineChangesAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	answers := make([]*heraldv1.ObjectDetails, 20)
	if n := testkit.Race(t, 20, func(i int) error {
		r, err := w.Gateway.UpdateMachineUser(w.Admin, &usersv1.UpdateMachineUserRequest{
			UserId: id, UserName: "ci", Name: fmt.Sprint(i),
		})
		answers[i] = r.GetDetails()
		return err
	}); n != 20 {
		t.Fatalf("%d of 20 succeeded", n)
	}
	last := slices.MaxFunc(answers, func(a, b *heraldv1.ObjectDetails) int { return int(a.Sequence) - int(b.Sequence) })
	got := w.User(id)
	if got.Details.Sequence != last.Sequence || got.GetMachine().Name != fmt.Sprint(slices.Index(answers, last)) ||
		w.Rows("events where name = 'changed' and aggregate_id = $1", id) != 20 {
		t.Errorf("%v after %v", got, last)
	}
}
