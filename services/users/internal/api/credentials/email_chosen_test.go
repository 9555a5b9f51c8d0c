package credentials_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// No code is sent to an address that a manager gave to an active user, until the user or somebody who may choose it
// sets it again: otherwise the manager could name an own address, and reset the password that the user has chosen.
func TestNoCodeIsSentToAddressesThatManagersChose(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	manager := w.Person(w.Admin, "manager")
	w.AddMember(w.Admin, manager, "ORG_USER_MANAGER")
	create := func(by context.Context, name string) string {
		t.Helper()
		made, err := w.Gateway.CreateHumanUser(by, &usersv1.CreateHumanUserRequest{
			UserName: name, Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse"},
			Email:           &usersv1.Email{Email: "mini@example.com", IsEmailVerified: true},
			InitialPassword: "correct horse battery",
		})
		if err != nil {
			t.Fatal(err)
		}
		return made.UserId
	}
	reset := func(id string) error {
		_, err := w.Gateway.RequestPasswordReset(w.Admin, &usersv1.RequestPasswordResetRequest{UserId: id})
		return err
	}
	w.Must(nil, reset(create(w.Admin, "made by the owner")))
	id := create(w.Login(w.Admin, manager, ""), "made by a manager")
	testkit.Refused(t, reset(id), "EMAIL_OUTRANKED")
	w.Request("passwordreset", id)
	if n := w.Rows("codes where user_id = $1", id); n != 0 {
		t.Errorf("%d codes", n)
	}
	w.Must(w.Gateway.UpdateMyEmail(w.Fresh(id, ""), &usersv1.UpdateMyEmailRequest{Email: "mini@example.com"}))
	w.Must(nil, reset(id))
}
