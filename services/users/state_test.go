package users_test

import (
	"context"
	"strings"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// moves are the calls that change a user's state, by the name of the event.
func (w *world) moves() map[string]func(context.Context, string) (*heraldv1.ObjectDetails, error) {
	return map[string]func(context.Context, string) (*heraldv1.ObjectDetails, error){
		"deactivated": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.gateway.DeactivateUser(ctx, &usersv1.DeactivateUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"reactivated": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.gateway.ReactivateUser(ctx, &usersv1.ReactivateUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"locked": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.gateway.LockUser(ctx, &usersv1.LockUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"unlocked": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.gateway.UnlockUser(ctx, &usersv1.UnlockUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"removed": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.gateway.RemoveUser(ctx, &usersv1.RemoveUserRequest{UserId: id})
			return r.GetDetails(), err
		},
	}
}

// After a deactivation or lock no token of the user works. Older tokens work again after the
// reverse change.
func TestUserStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moves := w.moves()
	for out, in := range map[string]string{"deactivated": "reactivated", "locked": "unlocked"} {
		id := w.person(w.admin, out)
		pat, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
		if err != nil {
			t.Fatal(err)
		}
		w.request("passwordreset", id)
		code := w.mail(id).Code
		details, err := moves[out](w.admin, id)
		if u := w.user(id); err != nil || u.Details.Sequence != details.Sequence || details.CreationDate != nil ||
			u.State == usersv1.UserState_USER_STATE_ACTIVE {
			t.Errorf("%s: %v, %v; the user is %v", out, details, err, u)
		}
		if _, name, data := w.last(id); name != out || data != `{"generation": "2"}` {
			t.Errorf("event %s %s", name, data)
		}
		_, err = w.resolve(pat.Token, "")
		refused(t, err, "TOKEN_INVALID")
		_, err = w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
		refused(t, err, "USER_NOT_ACTIVE")
		if _, err := moves[in](w.admin, id); err != nil {
			t.Fatal(err)
		}
		if _, name, data := w.last(id); name != in || !strings.Contains(data, "USER_STATE_ACTIVE") {
			t.Errorf("event %s %s", name, data)
		}
		if _, err := w.resolve(pat.Token, ""); err != nil {
			t.Errorf("%s: the token is %v", in, err)
		}
		_, err = w.completeKind("passwordreset", id, code, "correct horse")
		refused(t, err, "CODE_WRONG")
		if n := w.rows("users where id = $1 and generation = 2", id); n != 1 {
			t.Errorf("%s: the generation is another one", in)
		}
	}
}

// A user who still has to use a mailed code is initial again after a deactivation and reactivation.
func TestUserStatesOfWaitingUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moves := w.moves()
	id := w.initial("mini")
	code := w.mail(id).Code
	for _, move := range []string{"locked", "deactivated"} {
		if _, err := moves[move](w.admin, id); err != nil {
			t.Fatal(err)
		}
		_, err := w.complete(id, code, "correct horse")
		refused(t, err, "CODE_WRONG")
	}
	if _, err := moves["reactivated"](w.admin, id); err != nil ||
		w.state(id) != usersv1.UserState_USER_STATE_INITIAL {
		t.Errorf("reactivated: %v, %v", w.state(id), err)
	}
	if _, err := w.complete(id, code, "correct horse"); err != nil {
		t.Error(err)
	}
}

// A user who no longer needs the code of the first mail comes back without it.
func TestUserStatesOfSettledUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moves := w.moves()
	for out, in := range map[string]string{"deactivated": "reactivated", "locked": "unlocked"} {
		r := minimal(out)
		r.HashedPassword = hashed(someHash)
		made, err := w.gateway.ImportHumanUser(w.admin, r)
		if err != nil {
			t.Fatal(err)
		}
		id := made.UserId
		if _, err := moves[out](w.admin, id); err != nil {
			t.Fatal(err)
		}
		w.updateEmail(id, "mini@example.com", true)
		if w.rows("codes where user_id = $1 and purpose = 'init'", id) != 1 {
			t.Errorf("%s: the code is gone too early", out)
		}
		if _, err := moves[in](w.admin, id); err != nil || w.state(id) != usersv1.UserState_USER_STATE_ACTIVE {
			t.Errorf("%s: %v, %v", in, w.state(id), err)
		}
		if w.rows("codes where user_id = $1", id) != 0 {
			t.Errorf("%s: the code is left", in)
		}
	}
}

func TestUserStatesRefuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moves := w.moves()
	_, elsewhere := w.org("Elsewhere")
	owner, manager := w.person(w.admin, "owner"), w.person(w.admin, "manager")
	w.addMember(w.admin, owner, "ORG_OWNER")
	w.addMember(w.admin, manager, "ORG_USER_MANAGER")
	asManager, viewer := w.login(w.admin, manager, ""), w.person(w.admin, "viewer")
	w.addMember(w.admin, viewer, "ORG_OWNER_VIEWER")
	asViewer := w.login(w.admin, viewer, "")
	w.unwritten(func() {
		for name, move := range moves {
			for _, ctx := range []context.Context{w.admin, elsewhere} {
				id := map[bool]string{true: "nobody", false: owner}[ctx == w.admin]
				_, err := move(ctx, id)
				refused(t, err, "USER_NOT_FOUND")
			}
			_, err := move(asManager, owner)
			refused(t, err, "ESCALATION", "org.delete", w.orgID)
			_, err = move(asViewer, manager)
			refused(t, err, "PERMISSION_DENIED",
				map[bool]string{true: "user.delete", false: "user.write"}[name == "removed"])
			if name != "reactivated" && name != "unlocked" {
				_, err = move(w.admin, w.adminID)
				refused(t, err, "LAST_IAM_OWNER")
			}
		}
	})
	if _, err := moves["locked"](asManager, viewer); err == nil {
		t.Error("a manager locked somebody who may read more")
	}
	plain := w.person(w.admin, "plain")
	if _, err := moves["removed"](asManager, plain); err != nil {
		t.Error(err)
	}
}

// Of many equal changes at once one succeeds.
func TestUserStatesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	moves := w.moves()
	id := w.person(w.admin, "mini")
	for _, step := range []struct{ move, otherwise string }{
		{"locked", "USER_ALREADY_LOCKED"}, {"unlocked", "USER_NOT_LOCKED"}, {"deactivated", "USER_ALREADY_INACTIVE"},
		{"reactivated", "USER_NOT_INACTIVE"}, {"removed", "USER_NOT_FOUND"},
	} {
		n := testkit.Race(t, 20, func(int) error {
			_, err := moves[step.move](w.admin, id)
			return err
		}, step.otherwise)
		if n != 1 || w.rows("events where aggregate_id = $1 and name = $2", id, step.move) != 1 {
			t.Errorf("%d of 20 %s", n, step.move)
		}
	}
}

// Tokens that are created at the same time as the user's deactivation do not work afterwards.
func TestTokensAndDeactivationAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.person(w.admin, "mini")
	testkit.Race(t, 20, func(i int) error {
		if i == 10 {
			_, err := w.gateway.DeactivateUser(w.admin, &usersv1.DeactivateUserRequest{UserId: id})
			return err
		}
		_, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
		return err
	}, "USER_NOT_ACTIVE")
	if n := w.rows(`events e where name = 'added' and aggregate = 'pat' and position > (select position from events
		where name = 'deactivated')`); n != 0 {
		t.Errorf("%d tokens were made afterwards", n)
	}
}

// A user's credentials and roles are removed with the user, each with an event that names the
// cause. The name is free again, the id is not.
func TestRemoveUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, elsewhere := w.org("Elsewhere")
	r := minimal("mini")
	r.UserId, r.Password, r.Metadata = "mini", "correct horse", []*usersv1.Metadata{{Key: "size", Value: []byte("s")}}
	r.OtpCode = "JBSWY3DPEHPK3PXP"
	if _, err := w.gateway.ImportHumanUser(w.admin, r); err != nil {
		t.Fatal(err)
	}
	if _, err := w.complete("mini", w.mail("mini").Code, ""); err != nil {
		t.Fatal(err)
	}
	w.addMember(w.admin, "mini", "ORG_OWNER_VIEWER")
	w.addMember(elsewhere, "mini", "ORG_OWNER_VIEWER")
	w.addIamMember("mini", "IAM_OWNER_VIEWER")
	pat, err := w.gateway.AddPersonalAccessToken(w.admin, &usersv1.AddPersonalAccessTokenRequest{UserId: "mini"})
	if err != nil {
		t.Fatal(err)
	}
	w.request("passwordreset", "mini")
	_, err = w.completeKind("passwordreset", "mini", "WRONG", "another horse")
	refused(t, err, "CODE_WRONG")

	gone, err := w.gateway.RemoveUser(w.admin, &usersv1.RemoveUserRequest{UserId: "mini"})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"users", "members", "personal_access_tokens", "codes", "password_tries",
		"otp_factors", "user_metadata"} {
		column := map[bool]string{true: "id", false: "user_id"}[table == "users"]
		if n := w.rows(table+" where "+column+" = $1", "mini"); n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
	if w.rows("events where aggregate = 'user' and name = 'removed' and position = $1 and data = '{}'",
		gone.Details.Sequence) != 1 {
		t.Error("there is no event of the removal")
	}
	if n := w.rows(`events e join events c on c.id = e.data->>'cause' where c.name = 'removed' and c.aggregate = 'user'
		and e.name = 'removed' and e.aggregate in ('member', 'pat') and e.actor = $1`, w.adminID); n != 4 {
		t.Errorf("%d events of what went along", n)
	}
	_, err = w.resolve(pat.Token, "")
	refused(t, err, "TOKEN_INVALID")
	_, err = w.gateway.RemoveUser(w.admin, &usersv1.RemoveUserRequest{UserId: "mini"})
	refused(t, err, "USER_NOT_FOUND")
	_, err = w.gateway.ImportHumanUser(w.admin, r)
	refused(t, err, "USER_ID_TAKEN")
	r.UserId = ""
	if _, err := w.gateway.ImportHumanUser(w.admin, r); err != nil {
		t.Errorf("the name is not free: %v", err)
	}
}

// The first administrator can be removed when another user owns the instance.
func TestRemoveAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.person(w.admin, "second")
	w.addIamMember(second, "IAM_OWNER")
	asSecond := w.login(w.admin, second, "")
	if _, err := w.gateway.RemoveUser(asSecond, &usersv1.RemoveUserRequest{UserId: w.adminID}); err != nil {
		t.Fatal(err)
	}
	_, err := w.gateway.RemoveUser(asSecond, &usersv1.RemoveUserRequest{UserId: second})
	refused(t, err, "LAST_IAM_OWNER")
	if n := w.rows("instance"); n != 1 {
		t.Error("the next start would be a first one")
	}
}

// An id cannot be taken after or during its user's removal.
func TestRemovedIDsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := minimal("mini")
	r.UserId = "mini"
	if _, err := w.gateway.ImportHumanUser(w.admin, r); err != nil {
		t.Fatal(err)
	}
	n := testkit.Race(t, 20, func(i int) error {
		if i == 10 {
			_, err := w.gateway.RemoveUser(w.admin, &usersv1.RemoveUserRequest{UserId: "mini"})
			return err
		}
		other := minimal("other")
		other.UserId = "mini"
		_, err := w.gateway.ImportHumanUser(w.admin, other)
		return err
	}, "USER_ID_TAKEN", "IMPORT_DIFFERS")
	if n != 1 || w.rows("users where id = 'mini'") != 0 {
		t.Errorf("%d succeeded, the id is another user's", n)
	}
}
