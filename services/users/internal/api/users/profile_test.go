package users_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// A change returns its details, is read at once, and has an event without personal values. The same
// change again does nothing.
func TestChangeOfAPersonIsReadAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	for _, c := range []struct {
		event, fields, wants string
		change               func(context.Context, string) (*heraldv1.ObjectDetails, error)
	}{
		{"name_changed", "userName", `user_name:"Maxi"`,
			func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
				r, err := w.Gateway.UpdateUserName(ctx, &usersv1.UpdateUserNameRequest{UserId: id, UserName: " Maxi "})
				return r.GetDetails(), err
			}},
		{"profile_changed", "profile.firstName,profile.displayName,profile.preferredLanguage",
			`display_name:"Maxi Mouse"`,
			func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
				r, err := w.Gateway.UpdateProfile(ctx, &usersv1.UpdateProfileRequest{UserId: id, FirstName: "Maxi",
					LastName: "Mouse", PreferredLanguage: "de_CH"})
				return r.GetDetails(), err
			}},
		{"phone_changed", "phone.phone,phone.isPhoneVerified", `phone:"+41791234567"`,
			func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
				r, err := w.Gateway.UpdatePhone(ctx, &usersv1.UpdatePhoneRequest{UserId: id, Phone: "+41791234567",
					IsPhoneVerified: true})
				return r.GetDetails(), err
			}},
	} {
		details, err := c.change(w.Admin, id)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(w.User(id).String(), ":  ", ":")
		if u := w.User(id); u.Details.Sequence != details.Sequence ||
			!strings.Contains(strings.ReplaceAll(text, ": ", ":"), c.wants) {
			t.Errorf("%s answered %v, the user is %v", c.event, details, u)
		}
		w.Happened(id, c.event, `{"changed": ["`+strings.ReplaceAll(c.fields, ",", `", "`)+`"]}`)
		w.Unwritten(func() {
			if again, err := c.change(w.Admin, id); err != nil || !proto.Equal(again, details) {
				t.Errorf("%s again answered %v, %v; want %v", c.event, again, err, details)
			}
			_, err := c.change(w.Admin, "nobody")
			testkit.Refused(t, err, "USER_NOT_FOUND")
		})
	}
	if _, err := w.Gateway.RemovePhone(w.Admin, &usersv1.RemovePhoneRequest{UserId: id}); err != nil ||
		w.User(id).GetHuman().Phone != nil {
		t.Errorf("after the removal: %v, %v", w.User(id), err)
	}
	_, err := w.Gateway.RemovePhone(w.Admin, &usersv1.RemovePhoneRequest{UserId: id})
	testkit.Refused(t, err, "PHONE_NOT_FOUND")
	if u := w.User(id).GetHuman().Profile; u.NickName != "" || u.PreferredLanguage != "de-CH" {
		t.Errorf("profile %v", u)
	}
	const ignoringCase = heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE
	found, err := w.Gateway.SearchUsers(w.Admin, &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
		{FirstNameQuery: &usersv1.FirstNameQuery{FirstName: "MAXI", Method: ignoringCase}},
		{UserNameQuery: &usersv1.UserNameQuery{UserName: "maxi", Method: ignoringCase}},
	}})
	if err != nil || len(found.Result) != 1 {
		t.Errorf("the search finds %v, %v", found, err)
	}
}

func TestInvalidChangeOfAPersonIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, machine, owner := w.Person(w.Admin, "mini"), w.Person(w.Admin, "robot"), w.Person(w.Admin, "owner")
	w.SetColumns(machine, "type = 2")
	w.AddMember(w.Admin, id, "ORG_USER_MANAGER")
	w.AddMember(w.Admin, owner, "ORG_OWNER")
	asManager := w.Login(w.Admin, id, "")
	name := func(ctx context.Context, id, name string) error {
		_, err := w.Gateway.UpdateUserName(ctx, &usersv1.UpdateUserNameRequest{UserId: id, UserName: name})
		return err
	}
	profile := func(id, first, language string) error {
		_, err := w.Gateway.UpdateProfile(w.Admin, &usersv1.UpdateProfileRequest{UserId: id, FirstName: first,
			LastName: "Mouse", PreferredLanguage: language})
		return err
	}
	phone := func(id, phone string) error {
		_, err := w.Gateway.UpdatePhone(w.Admin, &usersv1.UpdatePhoneRequest{UserId: id, Phone: phone})
		return err
	}
	w.Unwritten(func() {
		testkit.Refused(t, name(w.Admin, id, "ＡＤＭＩＮ"), "USER_NAME_TAKEN")
		for userName, free := range map[string]bool{"ＡＤＭＩＮ": false, "nobody": true} {
			got, err := w.Gateway.IsUserUnique(w.Admin, &usersv1.IsUserUniqueRequest{UserName: userName})
			if err != nil || got.IsUnique != free {
				t.Errorf("%s: %v, %v", userName, got, err)
			}
		}
		for _, bad := range []string{"", " ", "a\nb", strings.Repeat("a", 201)} {
			testkit.Refused(t, name(w.Admin, id, bad), "INVALID_ARGUMENT", "userName")
			testkit.Refused(t, profile(id, bad, ""), "INVALID_ARGUMENT", "firstName")
		}
		testkit.Refused(t, profile(id, "Mini", "not a language"), "PREFERRED_LANGUAGE_INVALID", "preferredLanguage")
		for _, bad := range []string{"", "0791234567", "+0791234567", "+4179123456789012"} {
			testkit.Refused(t, phone(id, bad), "INVALID_ARGUMENT", "phone")
		}
		testkit.Refused(t, profile(machine, "Mini", ""), "USER_NOT_HUMAN")
		testkit.Refused(t, phone(machine, "+41791234567"), "USER_NOT_HUMAN")
		testkit.Refused(t, name(asManager, owner, "mine"), "ESCALATION")
	})
	if err := name(w.Admin, machine, "machine"); err != nil {
		t.Errorf("a machine has a name: %v", err)
	}
	if err := name(w.Admin, id, "MINI"); err != nil {
		t.Errorf("the own name in another case: %v", err)
	}
}

// Of many users who take the same name at once one gets it.
func TestOneOfManyUsersGetsAName(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	var ids []string
	for i := range 20 {
		ids = append(ids, w.Person(w.Admin, fmt.Sprint("mini", i)))
	}
	testkit.Once(t, 20, func(i int) error {
		_, err := w.Gateway.UpdateUserName(w.Admin, &usersv1.UpdateUserNameRequest{UserId: ids[i], UserName: "maxi"})
		return err
	}, "USER_NAME_TAKEN")
}

func TestPeopleChangeTheirProfileWhateverTheOrganization(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	id := w.Person(w.Admin, "mini")
	w.AddMember(inA, id, "ORG_OWNER_VIEWER")
	c := w.Caller(w.Admin, id, "")
	c.OrganizationID = "elsewhere" // the organization of the header does not matter
	r, err := w.Gateway.UpdateMyProfile(w.As(c), &usersv1.UpdateMyProfileRequest{FirstName: "Maxi", LastName: "Maus"})
	if err != nil || w.User(id).GetHuman().Profile.DisplayName != "Maxi Maus" ||
		w.User(id).Details.Sequence != r.Details.Sequence {
		t.Errorf("%v, %v: %v", r, err, w.User(id))
	}
}

// A change of one's own password needs the old password and a login of the last ten minutes.
func TestUpdateMyPassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	w.Must(nil, w.SetPassword(id, "correct horse", true))
	c := w.Caller(w.Admin, id, "")
	update := func(old, next string) error {
		c.AuthenticatedAt = w.Ground.Now()
		_, err := w.Gateway.UpdateMyPassword(w.As(c), &usersv1.UpdateMyPasswordRequest{OldPassword: old,
			NewPassword: next})
		return err
	}
	w.Unwritten(func() {
		_, err := w.Gateway.UpdateMyPassword(w.As(c), &usersv1.UpdateMyPasswordRequest{OldPassword: "correct horse",
			NewPassword: "another horse"})
		testkit.Refused(t, err, "FRESH_LOGIN_REQUIRED")
		for range 20 { // none costs a guess
			testkit.Refused(t, update("wrong", "short"), "PASSWORD_TOO_SHORT")
		}
		testkit.Refused(t, update("", "another horse"), "INVALID_ARGUMENT", "oldPassword")
		testkit.Refused(t, update("wrong", "another horse"), "PASSWORD_WRONG")
	})
	if err := update("correct horse", "another horse"); err != nil || !w.IsPassword(id, "another horse") ||
		w.Rows("password_tries") != 0 || w.Rows("users where id = $1 and password_change_required", id) != 0 {
		t.Errorf("the right password: %v", err)
	}

	// Of many guesses at once ten are compared. Then even the right password is refused.
	testworld.Guesses(t, "PASSWORD_WRONG", "PASSWORD_LOCKED", func(int) error { return update("wrong", "third horse") })
	testkit.Refused(t, update("another horse", "third horse"), "PASSWORD_LOCKED")
	w.Advance(15*time.Minute + time.Second)
	w.SignIn()
	if err := update("another horse", "third horse"); err != nil {
		t.Errorf("a quarter of an hour later: %v", err)
	}
}

// Wrong passwords of strangers, and of applications, keep nobody who has logged in from changing the password.
func TestStrangersKeepNobodyFromChangingThePassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Somebody("mini", "mini@example.com", "correct horse")
	c := w.Caller(w.Admin, id, "")
	c.AuthenticatedAt = w.Ground.Now()
	update := func(clientID, old, next string) error {
		c := c
		c.ClientID, c.ClientTrusted = clientID, true
		_, err := w.Gateway.UpdateMyPassword(w.As(c), &usersv1.UpdateMyPasswordRequest{
			OldPassword: old, NewPassword: next,
		})
		return err
	}
	for n := range 10 {
		_, err := w.Check("mini", fmt.Sprint("wrong ", n))
		testkit.Refused(t, err, "LOGIN_WRONG")
	}
	_, err := w.Check("mini", "correct horse")
	testkit.Refused(t, err, "PASSWORD_LOCKED")
	for n := range 10 {
		testkit.Refused(t, update(fmt.Sprint("app ", n), "wrong", "third horse"), "PASSWORD_WRONG")
	}
	testkit.Refused(t, update("app", "correct horse", "third horse"), "PASSWORD_LOCKED")
	if err := update("", "correct horse", "third horse"); err != nil {
		t.Error(err)
	}
	w.Must(w.Check("mini", "third horse"))
}

// With a stolen token nobody can change its user's login name, after which the user could not log in any more.
func TestOwnLoginNameNeedsAFreshLogin(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	rename := &usersv1.UpdateUserNameRequest{UserId: w.AdminID, UserName: "other"}
	_, err := w.Gateway.UpdateUserName(w.Admin, rename)
	testkit.Refused(t, err, "FRESH_LOGIN_REQUIRED")
	c, err := w.Resolve(w.AdminToken, "")
	if err != nil {
		t.Fatal(err)
	}
	c.AuthenticatedAt = w.Ground.Now()
	w.Must(w.Gateway.UpdateUserName(w.As(c), rename))
}
