package users_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// plantings are the ways in which an owner of an organization makes what a person logs in with: all of them set a
// password, and the imports a second factor and a link too.
func plantings(as context.Context, w *testworld.World) map[string]func(name string) (string, error) {
	data := func(name, password, hash string) *usersv1.ImportHumanUserRequest {
		r := testworld.Linked(name, "company/"+name)
		r.Email.IsEmailVerified, r.Password, r.HashedPassword = true, password, testworld.Hashed(hash)
		r.OtpCode = "JBSWY3DPEHPK3PXPJBSWY3DP"
		return r
	}
	one := func(r *usersv1.ImportHumanUserRequest) (string, error) {
		got, err := w.Gateway.ImportHumanUser(as, r)
		return got.GetUserId(), err
	}
	many := func(r *usersv1.ImportHumanUserRequest) (string, error) {
		ids, _ := w.Imported(as, testworld.Bulk(w.OrgID,
			&usersv1.ImportHumanUserRow{UserId: r.UserName, User: testworld.Wrapped(r).User}))
		return ids[0], nil
	}
	const password = "correct horse battery"
	return map[string]func(string) (string, error){
		"imported password":         func(n string) (string, error) { return one(data(n, password, "")) },
		"imported hash":             func(n string) (string, error) { return one(data(n, "", testworld.SomeHash)) },
		"imported password in bulk": func(n string) (string, error) { return many(data(n, password, "")) },
		"imported hash in bulk":     func(n string) (string, error) { return many(data(n, "", testworld.SomeHash)) },
		"initial password": func(n string) (string, error) {
			m := testworld.Minimal(n)
			m.Email.IsEmailVerified = true
			got, err := w.Gateway.CreateHumanUser(as, &usersv1.CreateHumanUserRequest{
				UserName: n, Profile: m.Profile, Email: m.Email, InitialPassword: password,
			})
			return got.GetUserId(), err
		},
		"password set": func(n string) (string, error) {
			id := w.Person(w.Admin, n)
			_, err := w.Gateway.SetPassword(as, &usersv1.SetPasswordRequest{UserId: id, Password: password})
			return id, err
		},
	}
}

// A password, a second factor and a linked account that an owner of the organization made end with a role in the
// instance, however they were made. Roles that the owner may give end nothing.
func TestPlantedLoginsEndWithThePromotion(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	planter := w.Person(w.Admin, "planter")
	w.AddMember(w.Admin, planter, "ORG_OWNER")
	for name, plant := range plantings(w.Login(w.Admin, planter, ""), w) {
		w.SignIn()
		id, err := plant(strings.ReplaceAll(name, " ", "-"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.AddMember(w.Admin, id, "ORG_OWNER")
		_, err = w.Gateway.AddProjectMember(w.Admin, &usersv1.AddProjectMemberRequest{
			ProjectId: "shop", UserId: id, Roles: []string{"PROJECT_OWNER"},
		})
		before := w.Rows("otp_factors where user_id = $1", id) + w.Rows("user_idp_links where user_id = $1", id)
		if err != nil || w.Hash(id) == "" || before != 0 && before != 2 {
			t.Errorf("%s, as an owner of the organization: password %q, %d factors and links, %v", name, w.Hash(id),
				before, err)
		}
		w.AddIamMember(id, "IAM_USER_MANAGER")
		if n := w.Rows("otp_factors where user_id = $1", id) + w.Rows("user_idp_links where user_id = $1", id); n != 0 {
			t.Errorf("%s: %d factors and links are left", name, n)
		}
		if w.Hash(id) != "" || w.State(id) != usersv1.UserState_USER_STATE_ACTIVE {
			t.Errorf("%s: password %q, %s", name, w.Hash(id), w.State(id))
		}
		changes, err := w.Gateway.SearchUserChanges(w.Admin, &usersv1.SearchUserChangesRequest{UserId: id})
		want := map[bool][]string{
			true:  {"human.password_removed", "member.added"},
			false: {"idp_link.removed", "otp.removed", "human.password_removed", "member.added"},
		}[before == 0]
		got := testworld.EventTypes(changes)
		for i, kind := range want {
			if err != nil || !slices.Contains(got[:len(want)], kind+" by "+w.AdminID) {
				t.Errorf("%s: change %d, %s, is not in %v, %v", name, i, kind, got, err)
			}
		}
	}
}

// After a promotion that ended the password, a user whose address was not outranked chooses one with a mailed code.
// Otherwise somebody with the permissions sets the address first.
func TestPasswordAfterThePromotion(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	planter := w.Person(w.Admin, "planter")
	w.AddMember(w.Admin, planter, "ORG_OWNER")
	asPlanter := w.Login(w.Admin, planter, "")
	choose := func(id string) {
		t.Helper()
		w.Must(w.CompleteKind("passwordreset", id, w.Mail(id).Code, "of her own choice"))
		if !w.IsPassword(id, "of her own choice") {
			t.Error("the password is another one")
		}
	}

	id := w.Person(w.Admin, "own address")
	set := &usersv1.SetPasswordRequest{UserId: id, Password: "known to the planter"}
	w.Must(w.Gateway.SetPassword(asPlanter, set))
	w.AddIamMember(id, "IAM_USER_MANAGER")
	_, err := w.Gateway.UpdateMyPassword(w.Fresh(id, ""), &usersv1.UpdateMyPasswordRequest{
		OldPassword: "known to the planter", NewPassword: "of the planter",
	})
	testkit.Refused(t, err, "PASSWORD_WRONG")
	_, err = w.Gateway.SetPassword(asPlanter, set)
	testkit.Refused(t, err, "ESCALATION")
	w.Request("passwordreset", id)
	choose(id)
	// It stays with the next role, because she chose it herself.
	if _, err := w.Gateway.UpdateIamMember(w.Admin, &usersv1.UpdateMemberRequest{
		UserId: id, Roles: []string{"IAM_OWNER"},
	}); err != nil || w.Hash(id) == "" {
		t.Errorf("password %q, %v", w.Hash(id), err)
	}

	m := testworld.Minimal("planted address")
	m.Email.IsEmailVerified, m.HashedPassword = true, testworld.Hashed(testworld.SomeHash)
	got := w.Import(asPlanter, m)
	w.AddIamMember(got.UserId, "IAM_USER_MANAGER")
	w.Unwritten(func() { w.Request("passwordreset", got.UserId) })
	reset := &usersv1.RequestPasswordResetRequest{UserId: got.UserId}
	_, err = w.Gateway.RequestPasswordReset(w.Admin, reset)
	testkit.Refused(t, err, "EMAIL_OUTRANKED")
	w.UpdateEmail(got.UserId, m.Email.Email, true)
	w.Must(w.Gateway.RequestPasswordReset(w.Admin, reset))
	choose(got.UserId)
}

// A password chosen with a mail to an address that somebody outranked chose ends with the promotion, because whoever
// chose the address may have read the mail.
func TestPasswordOfAPlantedAddress(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	planter := w.Person(w.Admin, "planter")
	w.AddMember(w.Admin, planter, "ORG_OWNER")
	got, err := w.Gateway.ImportHumanUser(w.Login(w.Admin, planter, ""), testworld.Minimal("planted"))
	if err != nil {
		t.Fatal(err)
	}
	w.Must(w.Complete(got.UserId, w.Mail(got.UserId).Code, "of the planter"))
	w.AddMember(w.Admin, got.UserId, "ORG_OWNER")
	if w.Hash(got.UserId) == "" {
		t.Error("the password ended with a role that the planter has")
	}
	w.AddIamMember(got.UserId, "IAM_USER_MANAGER")
	if w.Hash(got.UserId) != "" {
		t.Error("the password is left")
	}
}

// A user who waits for the first mail keeps waiting. The new mail asks for a password, because the one that was
// imported has ended.
func TestInitialUserAfterThePromotion(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	planter := w.Person(w.Admin, "planter")
	w.AddMember(w.Admin, planter, "ORG_OWNER")
	m := testworld.Minimal("mini")
	m.HashedPassword = testworld.Hashed(testworld.SomeHash)
	got, err := w.Gateway.ImportHumanUser(w.Login(w.Admin, planter, ""), m)
	if err != nil {
		t.Fatal(err)
	}
	w.AddIamMember(got.UserId, "IAM_USER_MANAGER")
	if s := w.State(got.UserId); s != usersv1.UserState_USER_STATE_INITIAL {
		t.Error(s)
	}
	again := &usersv1.ResendInitializationRequest{UserId: got.UserId, Email: m.Email.Email}
	w.Must(w.Gateway.ResendInitialization(w.Admin, again))
	mail := w.Mail(got.UserId)
	if mail.PasswordSet {
		t.Error("the mail says that there is a password")
	}
	_, err = w.Complete(got.UserId, mail.Code, "")
	testkit.Refused(t, err, "PASSWORD_REQUIRED")
	w.Must(w.Complete(got.UserId, mail.Code, "of her own choice"))
}
