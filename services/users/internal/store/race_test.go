package store_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/testkit"
)

// Of twenty equal calls at once one succeeds.
func TestOneOfManyEqualChangesSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.org("org-a")
	w.user("org-a", "u1")
	w.must(w.CreatePAT(ctx, token("u1", "org-a", "t1"), []byte{1}, noted))
	w.machine("org-a", "m1")
	w.must(w.AddMachineKey(ctx, machineKey("m1", "org-a", "k1"), []byte{1}, happened))
	for _, c := range []struct {
		what    string
		attempt func(i int) error
		loser   string // the fault of the other nineteen
		left    string // a table and a condition that the one row matches; empty for no row
	}{
		{"organization's name", func(i int) error {
			o := org(fmt.Sprint("org ", i))
			o.Name = "Shop"
			_, err := w.CreateOrg(ctx, o, "", happened)
			return err
		}, usersfault.ErrOrgNameTaken.ID, "organizations where name = 'Shop'"},
		{"user's id", func(i int) error { return w.createUser("org-a", "u2", fmt.Sprint("user ", i)) },
			usersfault.ErrUserIDTaken.ID, "users where id = 'u2'"},
		{"login name", func(i int) error { return w.createUser("org-a", fmt.Sprint("id ", i), "mini") },
			usersfault.ErrUserNameTaken.ID, "users where user_name = 'mini'"},
		{"member", func(int) error { return w.createMember(owner("u1", "org-a", "")) },
			usersfault.ErrMemberExists.ID, "members where project_id = ''"},
		{"project's first owner", func(int) error {
			return w.CreateProjectOwner(ctx, owner("u1", "org-a", "p1"), happened)
		}, usersfault.ErrProjectOwnerMade.ID, "members where project_id = 'p1'"},
		{"removed role", func(int) error {
			_, err := w.ChangeMember(ctx, "org-a", "p1", "u1", roles())
			return err
		}, usersfault.ErrMemberNotFound.ID, ""},
		{"removed token", func(int) error {
			_, err := w.RemovePAT(ctx, "org-a", "u1", "t1", happened)
			return err
		}, usersfault.ErrPATNotFound.ID, ""},
		{"app", func(int) error {
			_, err := w.CreateOTP(ctx, app("u1", "org-a"), happened)
			return err
		}, usersfault.ErrOTPNotVerified.ID, "otp_factors"},
		{"removed app", func(int) error {
			_, err := w.RemoveOTP(ctx, "org-a", "u1", gone)
			return err
		}, usersfault.ErrOTPNotFound.ID, ""},
		{"removed key", func(int) error {
			_, err := w.RemoveMachineKey(ctx, "org-a", "m1", "k1", happened)
			return err
		}, usersfault.ErrMachineKeyNotFound.ID, ""},
		{"deactivated organization", func(int) error {
			_, err := w.ChangeOrg(ctx, "org-a", func(o *domain.Org) (proto.Message, error) {
				return happened, o.Deactivate()
			})
			return err
		}, usersfault.ErrOrgNotActive.ID, "organizations where id = 'org-a' and generation = 2"},
		{"first start", func(i int) error {
			return w.CreateInstance(ctx, instance(fmt.Sprint(i)), instanceHappened)
		}, usersfault.ErrInstanceExists.ID, "instance"},
	} {
		before := testkit.Rows(t, w.db, "events")
		n := testkit.Race(t, 20, c.attempt, c.loser)
		if c.left != "" && testkit.Rows(t, w.db, c.left) != 1 || n != 1 {
			t.Errorf("%s: %d of twenty succeeded, the others are %s", c.what, n, c.loser)
		}
		if testkit.Rows(t, w.db, "events") == before {
			t.Errorf("%s: there is no event", c.what)
		}
	}
}

// Of many uses of a code at once one succeeds.
func TestCodeUsedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.waiting("u1", []byte("mac"))
	n := testkit.Race(t, 20, func(int) error {
		_, err := w.UseCode(t.Context(), "u1", domain.KindInit, []byte("mac"),
			func(u *domain.User) (store.UserChange, error) {
				_, err := u.Initialize("hash")
				return store.UserChange{Event: happened}, err
			})
		return err
	}, usersfault.ErrCodeWrong.ID)
	if left := testkit.Rows(t, w.db, "codes"); n != 1 || left != 0 {
		t.Errorf("%d of twenty used the code, %d are left", n, left)
	}
}

// Of many guesses at once the allowed number is compared.
func TestGuessesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.waiting("u1", []byte("mac"))
	n := testkit.Race(t, 20, func(int) error {
		_, err := w.TryCode(t.Context(), "u1", domain.KindInit, nobody)
		return err
	}, usersfault.ErrCodeLocked.ID)
	if n != domain.CodeTries {
		t.Errorf("%d guesses of twenty are allowed, want %d", n, domain.CodeTries)
	}
}

// Twenty requests for a mail at once send one mail, with the code that is stored.
func TestCodeRequestedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.waiting("u1", []byte("mac"))
	w.must(w.db.Exec(t.Context(), `update codes set made_at = now() - interval '1 hour'`))
	testkit.Race(t, 20, func(i int) error {
		return w.RequestCode(t.Context(), "u1", code(fmt.Sprint("mail ", i), []byte{1}), domain.CodePause, happened)
	})
	if n := testkit.Rows(t, w.db, "events where id like 'mail %'"); n != 1 {
		t.Errorf("%d mails for twenty requests at once", n)
	}
	if n := testkit.Rows(t, w.db, "codes c join events e on e.id = c.notification_id"); n != 1 {
		t.Error("the mail is not about the code that is left")
	}
}

// A mail is obsolete after a newer one was requested. The lifetime of a code begins once, even if
// several replicas send it.
func TestPrepareMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.waiting("u1", []byte("mac"))
	now := time.Now().Truncate(time.Microsecond)
	testkit.Race(t, 20, func(i int) error {
		m, err := w.PrepareMail(t.Context(), "first mail", "u1", now.Add(time.Duration(i)*time.Minute))
		if err == nil && m.Purpose != domain.KindInit {
			err = fmt.Errorf("a mail %q", m.Purpose)
		}
		return err
	})
	first, err := w.TryCode(t.Context(), "u1", domain.KindInit, nobody)
	w.must(first, err)
	m, err := w.PrepareMail(t.Context(), "first mail", "u1", now.Add(time.Hour))
	if err != nil || !m.ExpiresAt.Equal(*first.ExpiresAt) {
		t.Errorf("the code expires %s, then %s, %v", first.ExpiresAt, m.ExpiresAt, err)
	}
	w.must(w.db.Exec(t.Context(), `insert into notices (id, user_id, recipient, verified, own, time)
		values ('mail-notice', 'u1', 'mini@example.com', true, true, now())`))
	w.must(w.PrepareMail(t.Context(), "mail-notice", "u1", now))
	for _, c := range [][2]string{{"second mail", "u1"}, {"first mail", "u2"}, {"mail-notice", "u2"}} {
		_, err := w.PrepareMail(t.Context(), c[0], c[1], now)
		testkit.Refused(t, err, usersfault.ErrNotificationObsolete.ID)
	}
}

// waiting creates a user of org-a who waits for the notification "first mail", whose code has this
// MAC.
func (w world) waiting(id string, mac []byte) {
	w.Helper()
	u := user("org-a", id)
	u.State = domain.UserInitial
	first := code("first mail", mac)
	u.Code = &first
	w.must(w.CreateUser(w.Context(), u, happened))
}

// nobody counts the guesses at codes that do not exist.
var nobody = domain.Stranger{Name: []byte("nobody")}

// code returns a code of an initialize-user mail.
func code(notificationID string, mac []byte) store.NewCode {
	return store.NewCode{
		Kind: domain.KindInit, NotificationID: notificationID, Nonce: []byte{1}, MAC: mac, Nobody: nobody,
	}
}
