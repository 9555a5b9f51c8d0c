package users_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// A change returns its details, is read at once, and has an event without personal values. The same
// change again does nothing.
func TestUpdatePeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	for _, c := range []struct {
		event, fields, wants string
		change               func(context.Context, string) (*heraldv1.ObjectDetails, error)
	}{
		{"name_changed", "userName", `user_name:"Maxi"`,
			func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
				r, err := w.gateway.UpdateUserName(ctx, &usersv1.UpdateUserNameRequest{UserId: id, UserName: " Maxi "})
				return r.GetDetails(), err
			}},
		{"profile_changed", "profile.firstName,profile.displayName,profile.preferredLanguage",
			`display_name:"Maxi Mouse"`,
			func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
				r, err := w.gateway.UpdateProfile(ctx, &usersv1.UpdateProfileRequest{UserId: id, FirstName: "Maxi",
					LastName: "Mouse", PreferredLanguage: "de_CH"})
				return r.GetDetails(), err
			}},
		{"phone_changed", "phone.phone,phone.isPhoneVerified", `phone:"+41791234567"`,
			func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
				r, err := w.gateway.UpdatePhone(ctx, &usersv1.UpdatePhoneRequest{UserId: id, Phone: "+41791234567",
					IsPhoneVerified: true})
				return r.GetDetails(), err
			}},
	} {
		details, err := c.change(w.admin, id)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(w.user(id).String(), ":  ", ":")
		if u := w.user(id); u.Details.Sequence != details.Sequence ||
			!strings.Contains(strings.ReplaceAll(text, ": ", ":"), c.wants) {
			t.Errorf("%s answered %v, the user is %v", c.event, details, u)
		}
		want := `{"changed": ["` + strings.ReplaceAll(c.fields, ",", `", "`) + `"]}`
		if _, name, data := w.last(id); name != c.event || data != want {
			t.Errorf("event %s %s, want %s %s", name, data, c.event, want)
		}
		w.unwritten(func() {
			if again, err := c.change(w.admin, id); err != nil || !proto.Equal(again, details) {
				t.Errorf("%s again answered %v, %v; want %v", c.event, again, err, details)
			}
			_, err := c.change(w.admin, "nobody")
			refused(t, err, "USER_NOT_FOUND")
		})
	}
	if _, err := w.gateway.RemovePhone(w.admin, &usersv1.RemovePhoneRequest{UserId: id}); err != nil ||
		w.user(id).GetHuman().Phone != nil {
		t.Errorf("after the removal: %v, %v", w.user(id), err)
	}
	_, err := w.gateway.RemovePhone(w.admin, &usersv1.RemovePhoneRequest{UserId: id})
	refused(t, err, "PHONE_NOT_FOUND")
	if u := w.user(id).GetHuman().Profile; u.NickName != "" || u.PreferredLanguage != "de-CH" {
		t.Errorf("profile %v", u)
	}
	found, err := w.gateway.SearchUsers(w.admin, &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
		{FirstNameQuery: &usersv1.FirstNameQuery{FirstName: "MAXI", Method: 1}},
		{UserNameQuery: &usersv1.UserNameQuery{UserName: "maxi", Method: 1}},
	}})
	if err != nil || len(found.Result) != 1 {
		t.Errorf("the search finds %v, %v", found, err)
	}
}

func TestUpdatePeopleRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, machine, owner := w.person(w.admin, "mini"), w.person(w.admin, "robot"), w.person(w.admin, "owner")
	w.setColumns(machine, "type = 2")
	w.addMember(w.admin, id, "ORG_USER_MANAGER")
	w.addMember(w.admin, owner, "ORG_OWNER")
	asManager := w.login(w.admin, id, "")
	name := func(ctx context.Context, id, name string) error {
		_, err := w.gateway.UpdateUserName(ctx, &usersv1.UpdateUserNameRequest{UserId: id, UserName: name})
		return err
	}
	profile := func(id, first, language string) error {
		_, err := w.gateway.UpdateProfile(w.admin, &usersv1.UpdateProfileRequest{UserId: id, FirstName: first,
			LastName: "Mouse", PreferredLanguage: language})
		return err
	}
	phone := func(id, phone string) error {
		_, err := w.gateway.UpdatePhone(w.admin, &usersv1.UpdatePhoneRequest{UserId: id, Phone: phone})
		return err
	}
	w.unwritten(func() {
		refused(t, name(w.admin, id, "ＡＤＭＩＮ"), "USER_NAME_TAKEN")
		for userName, free := range map[string]bool{"ＡＤＭＩＮ": false, "nobody": true} {
			got, err := w.gateway.IsUserUnique(w.admin, &usersv1.IsUserUniqueRequest{UserName: userName})
			if err != nil || got.IsUnique != free {
				t.Errorf("%s: %v, %v", userName, got, err)
			}
		}
		for _, bad := range []string{"", " ", "a\nb", strings.Repeat("a", 201)} {
			refused(t, name(w.admin, id, bad), "INVALID_ARGUMENT", "userName")
			refused(t, profile(id, bad, ""), "INVALID_ARGUMENT", "firstName")
		}
		refused(t, profile(id, "Mini", "not a language"), "PREFERRED_LANGUAGE_INVALID", "preferredLanguage")
		for _, bad := range []string{"", "0791234567", "+0791234567", "+4179123456789012"} {
			refused(t, phone(id, bad), "INVALID_ARGUMENT", "phone")
		}
		refused(t, profile(machine, "Mini", ""), "USER_NOT_HUMAN")
		refused(t, phone(machine, "+41791234567"), "USER_NOT_HUMAN")
		refused(t, name(asManager, owner, "mine"), "ESCALATION")
	})
	if err := name(w.admin, machine, "machine"); err != nil {
		t.Errorf("a machine has a name: %v", err)
	}
	if err := name(w.admin, id, "MINI"); err != nil {
		t.Errorf("the own name in another case: %v", err)
	}
}

// Of many users who take the same name at once one gets it.
func TestUserNamesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for i := range 20 {
		ids = append(ids, w.person(w.admin, fmt.Sprint("mini", i)))
	}
	if n := testkit.Race(t, 20, func(i int) error {
		_, err := w.gateway.UpdateUserName(w.admin, &usersv1.UpdateUserNameRequest{UserId: ids[i], UserName: "maxi"})
		return err
	}, "USER_NAME_TAKEN"); n != 1 {
		t.Errorf("%d of 20 have the name", n)
	}
}

func TestUpdateMyProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, inA := w.org("A")
	id := w.person(w.admin, "mini")
	w.addMember(inA, id, "ORG_OWNER_VIEWER")
	c := w.caller(w.admin, id, "")
	c.OrganizationID = "elsewhere" // the organization of the header does not matter
	r, err := w.gateway.UpdateMyProfile(w.as(c), &usersv1.UpdateMyProfileRequest{FirstName: "Maxi", LastName: "Maus"})
	if err != nil || w.user(id).GetHuman().Profile.DisplayName != "Maxi Maus" ||
		w.user(id).Details.Sequence != r.Details.Sequence {
		t.Errorf("%v, %v: %v", r, err, w.user(id))
	}
}

// A change of one's own password needs the old password and a login of the last ten minutes.
func TestUpdateMyPassword(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	id := w.person(w.admin, "mini")
	if err := w.setPassword(id, "correct horse", true); err != nil {
		t.Fatal(err)
	}
	c := w.caller(w.admin, id, "")
	update := func(old, next string) error {
		c.AuthenticatedAt = w.ground.Now()
		_, err := w.gateway.UpdateMyPassword(w.as(c), &usersv1.UpdateMyPasswordRequest{OldPassword: old,
			NewPassword: next})
		return err
	}
	w.unwritten(func() {
		_, err := w.gateway.UpdateMyPassword(w.as(c), &usersv1.UpdateMyPasswordRequest{OldPassword: "correct horse",
			NewPassword: "another horse"})
		refused(t, err, "FRESH_LOGIN_REQUIRED")
		for range 20 { // none costs a guess
			refused(t, update("wrong", "short"), "PASSWORD_TOO_SHORT")
		}
		refused(t, update("", "another horse"), "INVALID_ARGUMENT", "oldPassword")
		refused(t, update("wrong", "another horse"), "PASSWORD_WRONG")
	})
	if err := update("correct horse", "another horse"); err != nil || !w.isPassword(id, "another horse") ||
		w.rows("password_tries") != 0 || w.rows("users where id = $1 and password_change_required", id) != 0 {
		t.Errorf("the right password: %v", err)
	}

	// Of many guesses at once ten are compared. Then even the right password is refused.
	var wrong atomic.Int64
	testkit.Race(t, 50, func(int) error {
		err := patient(func() error { return update("wrong", "third horse") })
		if err != nil && strings.Contains(err.Error(), "PASSWORD_WRONG") {
			wrong.Add(1)
		}
		return err
	}, "PASSWORD_WRONG", "PASSWORD_LOCKED")
	if wrong.Load() != 10 {
		t.Errorf("%d guesses were looked at", wrong.Load())
	}
	refused(t, update("another horse", "third horse"), "PASSWORD_LOCKED")
	ahead.Store(int64(15*time.Minute + time.Second))
	w.signIn()
	if err := update("another horse", "third horse"); err != nil {
		t.Errorf("a quarter of an hour later: %v", err)
	}
}

// A token does not change its own user's login name, with which only the user would not log in any more.
func TestOwnLoginNameTakesALogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rename := &usersv1.UpdateUserNameRequest{UserId: w.adminID, UserName: "other"}
	_, err := w.gateway.UpdateUserName(w.admin, rename)
	refused(t, err, "FRESH_LOGIN_REQUIRED")
	c, err := w.resolve(w.adminToken, "")
	if err != nil {
		t.Fatal(err)
	}
	c.AuthenticatedAt = w.ground.Now()
	if _, err := w.gateway.UpdateUserName(w.as(c), rename); err != nil {
		t.Error(err)
	}
}
