package users_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// After a deactivation or lock no token of the user works. Older tokens work again after the
// reverse change.
func TestUserStates(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	moves := w.Moves()
	for out, in := range map[string]string{"deactivated": "reactivated", "locked": "unlocked"} {
		id := w.Person(w.Admin, out)
		pat := w.PAT(w.Admin, id)
		w.Request("passwordreset", id)
		code := w.Mail(id).Code
		details, err := moves[out](w.Admin, id)
		if u := w.User(id); err != nil || u.Details.Sequence != details.Sequence || details.CreationDate != nil ||
			u.State == usersv1.UserState_USER_STATE_ACTIVE {
			t.Errorf("%s: %v, %v; the user is %v", out, details, err, u)
		}
		w.Happened(id, out, `{"generation": "2"}`)
		_, err = w.Resolve(pat.Token, "")
		testkit.Refused(t, err, "TOKEN_INVALID")
		_, err = w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
		testkit.Refused(t, err, "USER_NOT_ACTIVE")
		w.Must(moves[in](w.Admin, id))
		w.Happened(id, in, "USER_STATE_ACTIVE")
		if _, err := w.Resolve(pat.Token, ""); err != nil {
			t.Errorf("%s: the token is %v", in, err)
		}
		_, err = w.CompleteKind("passwordreset", id, code, "correct horse")
		testkit.Refused(t, err, "CODE_WRONG")
		if n := w.Rows("users where id = $1 and generation = 2", id); n != 1 {
			t.Errorf("%s: the generation is another one", in)
		}
	}
}

// A user who still has to use a mailed code is initial again after a deactivation and reactivation.
func TestUserStatesOfWaitingUser(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	moves := w.Moves()
	id := w.Initial("mini")
	code := w.Mail(id).Code
	for _, move := range []string{"locked", "deactivated"} {
		w.Must(moves[move](w.Admin, id))
		_, err := w.Complete(id, code, "correct horse")
		testkit.Refused(t, err, "CODE_WRONG")
	}
	if _, err := moves["reactivated"](w.Admin, id); err != nil ||
		w.State(id) != usersv1.UserState_USER_STATE_INITIAL {
		t.Errorf("reactivated: %v, %v", w.State(id), err)
	}
	w.Must(w.Complete(id, code, "correct horse"))
}

// A user who no longer needs the code of the first mail comes back without it.
func TestUserStatesOfSettledUser(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	moves := w.Moves()
	for out, in := range map[string]string{"deactivated": "reactivated", "locked": "unlocked"} {
		r := testworld.Minimal(out)
		r.HashedPassword = testworld.Hashed(testworld.SomeHash)
		made := w.Import(w.Admin, r)
		id := made.UserId
		w.Must(moves[out](w.Admin, id))
		w.UpdateEmail(id, "mini@example.com", true)
		if w.Rows("codes where user_id = $1 and purpose = 'init'", id) != 1 {
			t.Errorf("%s: the code is gone too early", out)
		}
		if _, err := moves[in](w.Admin, id); err != nil || w.State(id) != usersv1.UserState_USER_STATE_ACTIVE {
			t.Errorf("%s: %v, %v", in, w.State(id), err)
		}
		if w.Rows("codes where user_id = $1", id) != 0 {
			t.Errorf("%s: the code is left", in)
		}
	}
}

func TestUserStatesRefuse(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	moves := w.Moves()
	_, elsewhere := w.Org("Elsewhere")
	owner, manager := w.Person(w.Admin, "owner"), w.Person(w.Admin, "manager")
	w.AddMember(w.Admin, owner, "ORG_OWNER")
	w.AddMember(w.Admin, manager, "ORG_USER_MANAGER")
	asManager, viewer := w.Login(w.Admin, manager, ""), w.Person(w.Admin, "viewer")
	w.AddMember(w.Admin, viewer, "ORG_OWNER_VIEWER")
	asViewer := w.Login(w.Admin, viewer, "")
	w.Unwritten(func() {
		for name, move := range moves {
			for _, ctx := range []context.Context{w.Admin, elsewhere} {
				id := map[bool]string{true: "nobody", false: owner}[ctx == w.Admin]
				_, err := move(ctx, id)
				testkit.Refused(t, err, "USER_NOT_FOUND")
			}
			_, err := move(asManager, owner)
			testkit.Refused(t, err, "ESCALATION", "org.delete", w.OrgID)
			_, err = move(asViewer, manager)
			testkit.Refused(t, err, "PERMISSION_DENIED",
				map[bool]string{true: "user.delete", false: "user.write"}[name == "removed"])
			if name != "reactivated" && name != "unlocked" {
				_, err = move(w.Admin, w.AdminID)
				testkit.Refused(t, err, "LAST_IAM_OWNER")
			}
		}
	})
	if _, err := moves["locked"](asManager, viewer); err == nil {
		t.Error("a manager locked somebody who may read more")
	}
	plain := w.Person(w.Admin, "plain")
	if _, err := moves["removed"](asManager, plain); err != nil {
		t.Error(err)
	}
}

// Of many equal changes at once one succeeds.
func TestUserStatesAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	moves := w.Moves()
	id := w.Person(w.Admin, "mini")
	for _, step := range []struct{ move, otherwise string }{
		{"locked", "USER_ALREADY_LOCKED"}, {"unlocked", "USER_NOT_LOCKED"}, {"deactivated", "USER_ALREADY_INACTIVE"},
		{"reactivated", "USER_NOT_INACTIVE"}, {"removed", "USER_NOT_FOUND"},
	} {
		n := testkit.Race(t, 20, func(int) error {
			_, err := moves[step.move](w.Admin, id)
			return err
		}, step.otherwise)
		if n != 1 || w.Rows("events where aggregate_id = $1 and name = $2", id, step.move) != 1 {
			t.Errorf("%d of 20 %s", n, step.move)
		}
	}
}

// Tokens that are created at the same time as the user's deactivation do not work afterwards.
func TestTokensAndDeactivationAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	testkit.Race(t, 20, func(i int) error {
		if i == 10 {
			_, err := w.Gateway.DeactivateUser(w.Admin, &usersv1.DeactivateUserRequest{UserId: id})
			return err
		}
		_, err := w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
		return err
	}, "USER_NOT_ACTIVE")
	if n := w.Rows(`events e where name = 'added' and aggregate = 'pat' and position > (select position from events
		where name = 'deactivated')`); n != 0 {
		t.Errorf("%d tokens were made afterwards", n)
	}
}

// A user's credentials and roles are removed with the user, each with an event that names the
// cause. The name is free again, the id is not.
func TestRemoveUser(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, elsewhere := w.Org("Elsewhere")
	r := testworld.Minimal("mini")
	r.UserId, r.Password, r.Metadata = "mini", "correct horse", []*usersv1.Metadata{{Key: "size", Value: []byte("s")}}
	r.OtpCode = "JBSWY3DPEHPK3PXP"
	w.Must(w.Gateway.ImportHumanUser(w.Admin, r))
	w.Must(w.Complete("mini", w.Mail("mini").Code, ""))
	w.AddMember(w.Admin, "mini", "ORG_OWNER_VIEWER")
	w.AddMember(elsewhere, "mini", "ORG_OWNER_VIEWER")
	w.AddIamMember("mini", "IAM_OWNER_VIEWER")
	pat := w.PAT(w.Admin, "mini")
	w.Request("passwordreset", "mini")
	_, err := w.CompleteKind("passwordreset", "mini", "WRONG", "another horse")
	testkit.Refused(t, err, "CODE_WRONG")

	gone, err := w.Gateway.RemoveUser(w.Admin, &usersv1.RemoveUserRequest{UserId: "mini"})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"users", "members", "personal_access_tokens", "codes", "password_tries",
		"otp_factors", "user_metadata"} {
		column := map[bool]string{true: "id", false: "user_id"}[table == "users"]
		if n := w.Rows(table+" where "+column+" = $1", "mini"); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
	if w.Rows("events where aggregate = 'user' and name = 'removed' and position = $1 and data = '{}'",
		gone.Details.Sequence) != 1 {
		t.Error("there is no event of the removal")
	}
	if n := w.Rows(`events e join events c on c.id = e.data->>'cause' where c.name = 'removed' and c.aggregate = 'user'
		and e.name = 'removed' and e.aggregate in ('member', 'pat') and e.actor = $1`, w.AdminID); n != 4 {
		t.Errorf("%d events of what went along", n)
	}
	_, err = w.Resolve(pat.Token, "")
	testkit.Refused(t, err, "TOKEN_INVALID")
	_, err = w.Gateway.RemoveUser(w.Admin, &usersv1.RemoveUserRequest{UserId: "mini"})
	testkit.Refused(t, err, "USER_NOT_FOUND")
	_, err = w.Gateway.ImportHumanUser(w.Admin, r)
	testkit.Refused(t, err, "USER_ID_TAKEN")
	r.UserId = ""
	if _, err := w.Gateway.ImportHumanUser(w.Admin, r); err != nil {
		t.Errorf("the name is not free: %v", err)
	}
}

// The first administrator can be removed when another user owns the instance.
func TestRemoveAdministrator(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	second := w.Person(w.Admin, "second")
	w.AddIamMember(second, "IAM_OWNER")
	asSecond := w.Login(w.Admin, second, "")
	w.Must(w.Gateway.RemoveUser(asSecond, &usersv1.RemoveUserRequest{UserId: w.AdminID}))
	_, err := w.Gateway.RemoveUser(asSecond, &usersv1.RemoveUserRequest{UserId: second})
	testkit.Refused(t, err, "LAST_IAM_OWNER")
	if n := w.Rows("instance"); n != 1 {
		t.Error("the next start would be a first one")
	}
}

// An id cannot be taken after or during its user's removal.
func TestRemovedIDsAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	r := testworld.Minimal("mini")
	r.UserId = "mini"
	w.Must(w.Gateway.ImportHumanUser(w.Admin, r))
	n := testkit.Race(t, 20, func(i int) error {
		if i == 10 {
			_, err := w.Gateway.RemoveUser(w.Admin, &usersv1.RemoveUserRequest{UserId: "mini"})
			return err
		}
		other := testworld.Minimal("other")
		other.UserId = "mini"
		_, err := w.Gateway.ImportHumanUser(w.Admin, other)
		return err
	}, "USER_ID_TAKEN", "IMPORT_DIFFERS")
	if n != 1 || w.Rows("users where id = 'mini'") != 0 {
		t.Errorf("%d succeeded, the id is another user's", n)
	}
}
