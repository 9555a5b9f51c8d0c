package store_test

import (
	"context"
	"testing"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/testkit"
)

// bringing returns a user of org-a with an address, who logs in with a password, a second factor and two accounts at
// a provider.
func bringing(id string) store.NewUser {
	u := user("org-a", id)
	u.PasswordHash, u.PasswordChangeRequired, u.OTP, u.Email = "hash", true, []byte{1}, id+"@example.com"
	u.IdpLinks = []domain.IdpLink{
		{IdpID: "idp-a", ExternalUserID: id + " first"}, {IdpID: "idp-a", ExternalUserID: id + " second"},
	}
	return u
}

// creating are the statements that write a new user.
var creating = map[string]func(ctx context.Context, w world, u store.NewUser) error{
	"alone": func(ctx context.Context, w world, u store.NewUser) error {
		_, err := w.CreateUser(ctx, u, happened)
		return err
	},
	"in bulk": func(ctx context.Context, w world, u store.NewUser) error {
		_, err := w.ImportUsers(ctx, "org-a", []store.ImportRow{{NewUser: u, Imported: happened}})
		return err
	},
}

// Every statement that gives roles ends the password, the factor and the links that came with a new user. The user
// stays active. Another user loses nothing.
func TestNewRoleEndsCredentialsOfTheCreatorOfTheUser(t *testing.T) {
	t.Parallel()
	for how, create := range creating {
		for name, give := range giving {
			t.Run(how+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				ctx := t.Context()
				w.org("org-a")
				w.user("org-a", "a")
				w.must(nil, create(by(ctx, "a", ""), w, bringing("k")))
				w.must(nil, create(by(ctx, "a", ""), w, bringing("other")))
				// The membership itself already outranks the maker, and so does every further one.
				w.must(w.db.Exec(ctx, `insert into members (
					user_id, org_id, roles, state, sequence, created_at, changed_at)
				values ('k', 'org-a', '{ORG_PROJECT_CREATOR}', 1, 1, now(), now())`))
				w.must(nil, give(ctx, w))
				w.has(map[string]int{
					`users where password_hash = '' and not password_change_required and password_makers = '{}'
					and state = 1 and id = 'k'`: 1,
					`users where password_hash <> '' and password_change_required and not email_outranked
					and id = 'other'`: 1,
					"users where id = 'k' and email_outranked": 1,
					"otp_factors": 1, "otp_factors where user_id = 'other'": 1,
					"user_idp_links": 2, "user_idp_links where user_id = 'other'": 2,
					`users u join events e on e.position = u.sequence and e.time = u.changed_at
					where e.aggregate = 'human' and e.name = 'password_removed' and u.id = 'k'`: 1,
					`events r join events c on c.id = r.data->>'cause' and c.position < r.position
					where r.history_id = 'k' and r.aggregate || '.' || r.name
						in ('human.password_removed', 'otp.removed', 'idp_link.removed')`: 3,
					"events where name like '%removed'":                                       3,
					"events r join outbox using (position) where r.name like '%removed'":      3,
					"events where aggregate = 'idp_link' and data->>'idpId' = 'idp-a'":        1,
					"events where name like '%removed' and data::text like '%first%'":         0,
					"events where name like '%removed' and aggregate_id is distinct from 'k'": 0,
				})
			})
		}
	}
}

// What stays after a role was given, and what ends, depends on who made it last.
func TestMakersOfLogins(t *testing.T) {
	t.Parallel()
	const password, factor = "users where id = 'k' and password_hash <> ''", "otp_factors where user_id = 'k'"
	const email = "users where id = 'k' and not email_outranked"
	leave(t, map[string]making{
		"set by a maker": {func(w world) error { return w.setPassword("a", "") }, map[string]int{password: 0}},
		"set through a token of a maker": {func(w world) error { return w.setPassword("k", "of k") },
			map[string]int{password: 0}},
		"set by the user": {func(w world) error { return w.setPassword("k", "") }, map[string]int{password: 1}},
		"set by one with the permissions": {func(w world) error { return w.setPassword("root", "") },
			map[string]int{password: 1}},
		"a code without password": {func(w world) error { return w.choosePassword("hash") },
			map[string]int{password: 0}},
		"another change by the user": {func(w world) error {
			return w.changeUser("k", "", func(u *domain.User) { u.NickName, u.EmailVerified = "Mini", true })
		}, map[string]int{password: 0, email: 0}},
		"an address of one's own": {func(w world) error {
			return w.changeUser("k", "", func(u *domain.User) { u.Email = "own@example.com" })
		}, map[string]int{email: 1}},
		"an address chosen through a token of a maker": {func(w world) error {
			w.must(nil, w.changeUser("k", "", func(u *domain.User) { u.Email = "own@example.com" }))
			return w.changeUser("k", "of k", func(u *domain.User) { u.Email = "other@example.com" })
		}, map[string]int{email: 0}},
		"an outranked address set again": {func(w world) error {
			w.must(nil, w.changeUser("a", "", func(u *domain.User) { u.EmailOutranked = true }))
			return w.changeUser("root", "", func(u *domain.User) { u.EmailOutranked = false })
		}, map[string]int{email: 1}},
		"an outranked address set again by a maker": {func(w world) error {
			w.must(nil, w.changeUser("root", "", func(u *domain.User) {
				u.Email, u.EmailOutranked = "x@example.com", true
			}))
			return w.changeUser("a", "", func(u *domain.User) { u.EmailOutranked = false })
		}, map[string]int{email: 0}},
		"a factor used": {func(w world) error {
			return w.changeFactor("k", "", func(f *domain.OTP) { f.LastStep = 7 })
		}, map[string]int{factor: 0}},
		"a factor of one's own": {func(w world) error {
			return w.changeFactor("k", "", func(f *domain.OTP) { f.Secret = []byte{2} })
		}, map[string]int{factor: 1}},
		"a factor of one's own used through a token of a maker": {func(w world) error {
			w.must(nil, w.changeFactor("k", "", func(f *domain.OTP) { f.Secret = []byte{2} }))
			return w.changeFactor("k", "of k", func(f *domain.OTP) { f.LastStep = 7 })
		}, map[string]int{factor: 1}},
		"a factor made through a token of a maker": {func(w world) error {
			return w.changeFactor("k", "of k", func(f *domain.OTP) { f.Secret = []byte{2} })
		}, map[string]int{factor: 0}},
		"a factor of one's own verified through a token of a maker": {func(w world) error {
			w.must(nil, w.changeFactor("k", "", unverified))
			return w.changeFactor("k", "of k", func(f *domain.OTP) { f.State = domain.FactorReady })
		}, map[string]int{factor: 0}},
		"a factor of a maker verified by the user": {func(w world) error {
			w.must(nil, w.changeFactor("a", "", unverified))
			return w.changeFactor("k", "", func(f *domain.OTP) { f.State = domain.FactorReady })
		}, map[string]int{factor: 0}},
		"removed and added": {func(w world) error {
			w.must(w.RemoveOTP(w.Context(), "org-a", "k", gone))
			_, err := w.CreateOTP(by(w.Context(), "k", ""), app("k", "org-a"), happened)
			return err
		}, map[string]int{factor: 1}},
		"removed and added through a token of a maker": {func(w world) error {
			w.must(w.RemoveOTP(w.Context(), "org-a", "k", gone))
			_, err := w.CreateOTP(by(w.Context(), "k", "of k"), app("k", "org-a"), happened)
			return err
		}, map[string]int{factor: 0}},
	})
}

// The reader of the mail with a code may be whoever chose the address. So a password that is chosen with the code has
// the makers of the address too.
func TestMakersOfMailedPasswords(t *testing.T) {
	t.Parallel()
	const password = "users where id = 'k' and password_hash <> ''"
	const email = "users where id = 'k' and not email_outranked"
	leave(t, map[string]making{
		"chosen with a code to a maker's address": {func(w world) error { return w.choosePassword("new") },
			map[string]int{password: 0}},
		"chosen with a code to one's own address": {func(w world) error {
			w.must(nil, w.changeUser("k", "", func(u *domain.User) { u.Email = "own@example.com" }))
			return w.choosePassword("new")
		}, map[string]int{password: 1}},
		"chosen with a code to an address of one with the permissions": {func(w world) error {
			w.must(nil, w.changeUser("root", "", func(u *domain.User) { u.Email = "own@example.com" }))
			return w.choosePassword("new")
		}, map[string]int{password: 1}},
		"chosen with a code to a maker's address that was then replaced": {func(w world) error {
			w.must(nil, w.choosePassword("new"))
			return w.changeUser("k", "", func(u *domain.User) { u.Email = "own@example.com" })
		}, map[string]int{password: 0, email: 1}},
	})
}

// making is something that is made for k, and the rows that are left after k was promoted.
type making struct {
	make func(world) error
	left map[string]int
}

func leave(t *testing.T, all map[string]making) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPlantedWorld(t)
			w.must(nil, c.make(w))
			w.must(w.CreateMember(t.Context(), owner("k", "org-a", ""), joined))
			w.has(c.left)
		})
	}
}

// Credentials that came with a new user stay if their maker has the permissions or is the first start.
func TestCredentialsStayIfTheirMakerHasThePermissions(t *testing.T) {
	t.Parallel()
	for how, create := range creating {
		for _, maker := range []string{"root", ""} {
			t.Run(how+" by "+maker, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.org("org-a")
				w.user("org-a", "root")
				root := domain.Member{UserID: "root", Roles: []string{"IAM_OWNER"}}
				w.must(w.CreateMember(t.Context(), root, joined))
				w.must(nil, create(by(t.Context(), maker, ""), w, bringing("k")))
				w.must(w.CreateMember(t.Context(), owner("k", "org-a", ""), joined))
				w.has(map[string]int{
					"users where id = 'k' and password_hash <> ''": 1, "otp_factors": 1, "user_idp_links": 2,
					"users where email_outranked":       0,
					"events where name like '%removed'": 0,
				})
			})
		}
	}
}

// newPlantedWorld has an IAM_OWNER, root, and a user k. The user a, who has no role, has created k and made a token for
// k.
func newPlantedWorld(t *testing.T) world {
	t.Helper()
	w, ctx := newWorld(t), t.Context()
	w.org("org-a")
	w.user("org-a", "a")
	w.user("org-a", "root")
	w.must(w.CreateMember(ctx, domain.Member{UserID: "root", Roles: []string{"IAM_OWNER"}}, joined))
	w.must(w.CreateUser(by(ctx, "a", ""), bringing("k"), happened))
	w.must(w.CreatePAT(by(ctx, "a", ""), token("k", "org-a", "of k"), []byte{1}, noted))
	return w
}

// has fails the test unless there are as many rows. They are written as a table and a condition.
func (w world) has(rows map[string]int) {
	w.Helper()
	for row, want := range rows {
		if n := testkit.Rows(w, w.db, row); n != want {
			w.Errorf("%d %s, not %d", n, row, want)
		}
	}
}

// setPassword sets another password of k.
func (w world) setPassword(caller, tokenID string) error {
	_, _, err := w.ChangeUser(by(w.Context(), caller, tokenID), "org-a", "k",
		func(u *domain.User) (store.UserChange, error) {
			c, err := u.SetPassword(domain.Password{Hash: "other"})
			return store.UserChange{Event: happened, Ended: c.Ended}, err
		})
	return err
}

// choosePassword uses a mailed code of k, which sets a password hash.
func (w world) choosePassword(hash domain.Hidden) error {
	w.must(w.db.Exec(w.Context(), `insert into codes (user_id, purpose, notification_id, nonce, mac, makers, made_at)
		values ('k', 'passwordreset', 'n', '', 'mac', '{}', now())`))
	_, err := w.UseCode(w.Context(), "k", domain.KindPasswordReset, []byte("mac"),
		func(u *domain.User) (store.UserChange, error) {
			u.PasswordHash = hash
			return store.UserChange{Event: happened}, nil
		})
	return err
}

func (w world) changeUser(caller, tokenID string, change func(*domain.User)) error {
	_, _, err := w.ChangeUser(by(w.Context(), caller, tokenID), "org-a", "k",
		func(u *domain.User) (store.UserChange, error) {
			change(u)
			return store.UserChange{Event: happened}, nil
		})
	return err
}

func (w world) changeFactor(caller, tokenID string, change func(*domain.OTP)) error {
	ctx := by(w.Context(), caller, tokenID)
	_, err := w.ChangeOTP(ctx, "org-a", "k", func(f *domain.OTP) (store.NoticedChange, error) {
		change(f)
		return changed, nil
	})
	return err
}

// unverified gives a factor another secret.
func unverified(f *domain.OTP) { f.Secret, f.State = []byte{2}, domain.FactorNotReady }
