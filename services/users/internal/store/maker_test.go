package store_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/testkit"
)

// by returns a context with a caller who calls with a token, or with none if tokenID is empty.
func by(ctx context.Context, userID, tokenID string) context.Context {
	return caller.With(ctx, caller.Caller{UserID: userID, TokenID: tokenID})
}

// places are where a role of each scope is held in these tests.
var places = map[caller.Level]domain.Member{
	caller.Instance: {}, caller.Organization: {OrgID: "org-a"},
	caller.Project: {OrgID: "org-a", ProjectID: "p1"},
}

// member returns a membership with one role.
func member(userID string, r caller.Role) domain.Member {
	m := places[r.Level]
	m.UserID, m.Roles = userID, []string{r.Name}
	return m
}

// A new role ends the token of a maker who lacks one of its permissions: for every role of the maker, every role that
// the member had and every new role, with the result of package caller.
func TestMakerWithoutAPermissionOfTheNewRoleLosesTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	var all []caller.Role
	for _, s := range []caller.Level{caller.Instance, caller.Organization, caller.Project} {
		all = append(all, caller.Roles(s)...)
	}
	for _, r := range all {
		w.user("org-a", r.Name)
		w.must(w.CreateMember(t.Context(), member(r.Name, r), joined))
	}
	w.user("org-a", "nobody")
	ended, kept := 0, 0
	for _, added := range all {
		w.user("org-a", "to "+added.Name)
		for _, r := range append(all, caller.Role{Name: "nobody"}) {
			id := r.Name + " for " + added.Name
			made := token("to "+added.Name, "org-a", id)
			w.must(w.CreatePAT(by(t.Context(), r.Name, ""), made, []byte(id), noted))
		}
		m := member("to "+added.Name, added)
		w.must(w.CreateMember(t.Context(), m, joined))
		for _, r := range all {
			_, _, lacks := caller.MissingPermission([]caller.Membership{member(r.Name, r).Membership()},
				[]caller.Membership{m.Membership()})
			id := r.Name + " for " + added.Name
			left := testkit.Rows(t, w.db, "personal_access_tokens where id = $1", id)
			events := testkit.Rows(t, w.db, "events where aggregate_id = $1 and name = 'removed'", id)
			if lacks != (left == 0) || lacks != (events == 1) {
				t.Errorf("%s is added: the token by a %s, who lacks a permission: %t; %d left, %d events",
					added.Name, r.Name, lacks, left, events)
			}
			ended, kept = ended+events, kept+left
		}
		if n := testkit.Rows(t, w.db, "personal_access_tokens where id = $1", "nobody for "+added.Name); n != 0 {
			t.Errorf("%s is added: the token by nobody stays", added.Name)
		}
	}
	if ended < 50 || kept < 20 {
		t.Errorf("%d tokens ended and %d stay", ended, kept)
	}
}

// Permissions of the makers in another organization or on another project do not count. A permission that the member
// had before ends nothing.
func TestPermissionsOfMakersElsewhereDoNotCount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		maker, had, added domain.Member
		ends              bool
	}{
		"in another organization": {owner("a", "org-b", ""), domain.Member{}, owner("u", "org-a", ""), true},
		"on another project":      {owner("a", "org-a", "p2"), domain.Member{}, owner("u", "org-a", "p1"), true},
		"on the project":          {owner("a", "org-a", "p1"), domain.Member{}, owner("u", "org-a", "p1"), false},
		"above the project":       {owner("a", "org-a", ""), domain.Member{}, owner("u", "org-a", "p1"), false},
		"nothing new":             {owner("a", "org-b", ""), owner("u", "org-a", ""), owner("u", "org-a", "p1"), false},
		"had elsewhere":           {owner("a", "org-b", ""), owner("u", "org-b", ""), owner("u", "org-a", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.org("org-a")
			w.org("org-b")
			w.user("org-a", "a")
			w.user("org-a", "u")
			w.must(w.CreateMember(t.Context(), c.maker, joined))
			if c.had.UserID != "" {
				w.must(w.CreateMember(t.Context(), c.had, joined))
			}
			w.must(w.CreatePAT(by(t.Context(), "a", ""), token("u", "org-a", "t1"), []byte{1}, noted))
			w.must(w.CreatePAT(by(t.Context(), "u", ""), token("u", "org-a", "own"), []byte{2}, noted))
			w.must(w.CreatePAT(t.Context(), token("u", "org-a", "first start"), []byte{3}, noted))
			w.must(w.CreateMember(t.Context(), c.added, joined))
			if n := testkit.Rows(t, w.db, "personal_access_tokens where id = 't1'"); (n == 0) != c.ends {
				t.Errorf("%d tokens", n)
			}
			if n := testkit.Rows(t, w.db, "personal_access_tokens"); n < 2 {
				t.Errorf("only %d tokens are left", n)
			}
		})
	}
}

// The roles of a maker from elsewhere count once the maker has accepted them.
func TestPendingRolesOfMakersDoNotCount(t *testing.T) {
	t.Parallel()
	for state, left := range map[domain.MembershipState]int{domain.MembershipPending: 0, domain.MembershipActive: 1} {
		w := newWorld(t)
		w.org("org-a")
		w.org("org-b")
		w.user("org-b", "a")
		w.user("org-a", "u")
		w.must(w.CreateMember(t.Context(), owner("a", "org-a", ""), joined))
		w.must(w.db.Exec(t.Context(), `update members set state = $1`, state))
		w.must(w.CreatePAT(by(t.Context(), "a", ""), token("u", "org-a", "t1"), []byte{1}, noted))
		w.must(w.CreateMember(t.Context(), owner("u", "org-a", ""), joined))
		if n := testkit.Rows(t, w.db, "personal_access_tokens"); n != left {
			t.Errorf("%d tokens are left by a maker in the state %d", n, state)
		}
	}
}

// The maker of a token is a maker of everything that is made with it, also through further tokens.
func TestMakersOfTokensAreMakers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	for _, id := range []string{"a", "m", "n", "u"} {
		w.user("org-a", id)
	}
	w.machine("org-a", "k")
	w.must(w.CreatePAT(by(t.Context(), "a", ""), token("m", "org-a", "of m"), []byte{1}, noted))
	w.must(w.CreatePAT(by(t.Context(), "m", "of m"), token("n", "org-a", "of n"), []byte{2}, noted))
	with := by(t.Context(), "n", "of n")
	w.must(w.CreatePAT(with, token("u", "org-a", "of u"), []byte{3}, noted))
	w.must(w.AddMachineKey(with, machineKey("k", "org-a", "k1"), []byte{1}, happened))
	_, _, err := w.ChangeUser(with, "org-a", "k", func(u *domain.User) (store.UserChange, error) {
		return store.UserChange{Event: happened}, u.SetSecret("x")
	})
	w.must(nil, err)
	_, _, err = w.ChangeUser(with, "org-a", "u", func(*domain.User) (store.UserChange, error) {
		return store.UserChange{Event: happened, Code: mailed(domain.KindInit)}, nil
	})
	w.must(nil, err)
	planned := user("org-a", "v")
	planned.Code = mailed(domain.KindInit)
	w.must(w.CreateUser(with, planned, happened))
	planned = user("org-a", "x")
	planned.Code = mailed(domain.KindInit)
	w.must(w.ImportUsers(with, "org-a", []store.ImportRow{{NewUser: planned, Imported: happened}}))
	w.has(map[string]int{
		"personal_access_tokens where id = 'of u' and makers @> '{a,m,n}' and cardinality(makers) = 3": 1,
		"machine_keys where makers @> '{a,m,n}' and cardinality(makers) = 3":                           1,
		"users where id = 'k' and secret_makers @> '{a,m,n}' and cardinality(secret_makers) = 3":       1,
		"codes where makers @> '{a,m,n}' and cardinality(makers) = 3":                                  3,
	})
	// The secret's makers stay with another change, and a new secret has others.
	for _, c := range []struct {
		change func(*domain.User) error
		want   string
	}{
		{func(u *domain.User) error { u.Description = "build"; return nil }, "{a,m,n}"},
		{func(u *domain.User) error { return u.SetSecret("y") }, "{b}"},
	} {
		other := by(t.Context(), "b", "")
		_, _, err := w.ChangeUser(other, "org-a", "k", func(u *domain.User) (store.UserChange, error) {
			return store.UserChange{Event: happened}, c.change(u)
		})
		w.must(nil, err)
		if n := testkit.Rows(t, w.db, "users where id = 'k' and secret_makers @> $1 and secret_makers <@ $1",
			c.want); n != 1 {
			t.Errorf("the makers are not %s", c.want)
		}
	}
}

func mailed(kind domain.Kind) *store.NewCode {
	return &store.NewCode{Kind: kind, NotificationID: fmt.Sprint(domain.Nonce()), Nonce: []byte{1}, MAC: []byte{1}}
}

// giving are the statements that give roles: here to a user k, who is an ORG_PROJECT_CREATOR of org-a.
var giving = map[string]func(ctx context.Context, w world) error{
	"in the instance": func(ctx context.Context, w world) error {
		_, err := w.CreateMember(ctx, domain.Member{UserID: "k", Roles: []string{"IAM_USER_MANAGER"}}, joined)
		return err
	},
	"more roles": func(ctx context.Context, w world) error {
		_, err := w.ChangeMember(ctx, "org-a", "", "k", func(m *domain.Member) (proto.Message, error) {
			m.Roles = append(m.Roles, "ORG_OWNER_VIEWER")
			return happened, nil
		})
		return err
	},
	"a new project": func(ctx context.Context, w world) error {
		return w.CreateProjectOwner(ctx, owner("k", "org-a", "p1"), happened)
	},
}

// givingElsewhere are those that give roles in another organization than the user's.
var givingElsewhere = map[string]func(ctx context.Context, w world) error{
	"a new organization": func(ctx context.Context, w world) error {
		_, err := w.CreateOrg(ctx, org("org-b"), "k", happened)
		return err
	},
	"in another organization": func(ctx context.Context, w world) error {
		w.org("org-b")
		_, err := w.CreateMember(ctx, owner("k", "org-b", ""), joined)
		return err
	},
	"more roles in another organization": func(ctx context.Context, w world) error {
		w.org("org-b")
		w.must(w.CreateMember(ctx, domain.Member{UserID: "k", OrgID: "org-b",
			Roles: []string{"ORG_PROJECT_CREATOR"}}, joined))
		_, err := w.ChangeMember(ctx, "org-b", "", "k", roles("ORG_OWNER"))
		return err
	},
	"on a project of another organization": func(ctx context.Context, w world) error {
		w.org("org-b")
		_, err := w.CreateMember(ctx, owner("k", "org-b", "p1"), joined)
		return err
	},
	"a new project of another organization": func(ctx context.Context, w world) error {
		w.org("org-b")
		return w.CreateProjectOwner(ctx, owner("k", "org-b", "p1"), happened)
	},
}

// projectCreator makes k an ORG_PROJECT_CREATOR of org-a.
func (w world) projectCreator() {
	w.Helper()
	w.must(w.CreateMember(w.Context(),
		domain.Member{UserID: "k", OrgID: "org-a", Roles: []string{"ORG_PROJECT_CREATOR"}}, joined))
}

// Every statement that gives roles ends what others made.
func TestNewRoleEndsCredentialsThatOthersMade(t *testing.T) {
	t.Parallel()
	for name, give := range giving {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plantedMachine()
			w.must(nil, give(t.Context(), w))
			w.has(map[string]int{
				"personal_access_tokens": 0, "machine_keys": 0, "codes": 0, "users where secret_hash <> ''": 0,
				`users u join events e on e.position = u.sequence and e.time = u.changed_at
				where e.name = 'secret_removed'`: 1,
				`events r join events c on c.id = r.data->>'cause' and c.position < r.position
				where r.name like '%removed'`: 3,
				"events r join outbox using (position) where r.name like '%removed'": 3,
			})
		})
	}
}

// plantedMachine creates a machine user k of org-a, who is an ORG_PROJECT_CREATOR there. The user a, who has no role,
// has made a token, a key, a secret and a code for k.
func (w world) plantedMachine() {
	w.Helper()
	asA := by(w.Context(), "a", "")
	w.org("org-a")
	w.machine("org-a", "k")
	w.user("org-a", "a")
	w.projectCreator()
	w.must(w.CreatePAT(asA, token("k", "org-a", "t1"), []byte{1}, noted))
	w.must(w.AddMachineKey(asA, machineKey("k", "org-a", "k1"), []byte{1}, happened))
	_, _, err := w.ChangeUser(asA, "org-a", "k", func(u *domain.User) (store.UserChange, error) {
		return store.UserChange{Event: happened, Code: mailed(domain.KindPasswordReset)}, u.SetSecret("x")
	})
	w.must(nil, err)
}

// A role in another organization than the user's ends nothing: otherwise any organization could end what another one's
// users log in with.
func TestRoleElsewhereEndsNoCredentials(t *testing.T) {
	t.Parallel()
	for name, give := range givingElsewhere {
		t.Run("to a machine user, "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plantedMachine()
			w.must(nil, give(t.Context(), w))
			w.has(map[string]int{
				"personal_access_tokens": 1, "machine_keys": 1, "codes": 1, "users where secret_hash <> ''": 1,
				"members where org_id = 'org-b'": 1, "events where name like '%removed'": 0,
			})
		})
		t.Run("to a human user, "+name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.org("org-a")
			w.user("org-a", "a")
			w.must(w.CreateUser(by(t.Context(), "a", ""), bringing("k"), happened))
			w.must(nil, give(t.Context(), w))
			w.has(map[string]int{
				"users where password_hash <> '' and password_change_required and not email_outranked": 1,
				"otp_factors": 1, "user_idp_links": 2,
				"members where org_id = 'org-b'": 1, "events where name like '%removed'": 0,
			})
		})
	}
}

// A pending address that somebody may have chosen who lacks a permission that its user gets goes with its code, also if
// the user has asked for another mail since. A verified one has the makers of its code.
func TestPendingEmailHasTheMakersOfItsCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	for _, id := range []string{"a", "k", "v"} {
		w.user("org-a", id)
		w.must(w.db.Exec(t.Context(), `update users set state = $2, email_verified = true where id = $1`, id,
			domain.UserActive))
		w.must(w.CreatePAT(by(t.Context(), "a", ""), token(id, "org-a", "of "+id), []byte(id), noted))
		_, _, err := w.ChangeUser(by(t.Context(), id, "of "+id), "org-a", id,
			func(u *domain.User) (store.UserChange, error) {
				u.PendingEmail = "new@x.ch"
				return store.UserChange{Event: happened, Code: mailed(domain.KindVerifyEmail)}, nil
			})
		w.must(nil, err)
		_, _, err = w.ChangeUser(by(t.Context(), id, ""), "org-a", id, func(*domain.User) (store.UserChange, error) {
			return store.UserChange{Event: happened, Code: mailed(domain.KindVerifyEmail)}, nil
		})
		w.must(nil, err)
	}
	w.has(map[string]int{"codes where user_id = 'k' and makers = '{a,k}'": 1,
		"users where id = 'k' and pending_email = 'new@x.ch'": 1})
	w.must(w.CreateMember(t.Context(), owner("k", "org-a", ""), joined))
	w.has(map[string]int{"codes where user_id = 'k'": 0, "users where id = 'k' and pending_email <> ''": 0,
		"users where id = 'v' and pending_email <> ''": 1})
	verify := func(u *domain.User) (store.UserChange, error) {
		c, err := u.VerifyEmail()
		return store.UserChange{Event: happened, Ended: c.Ended}, err
	}
	w.must(w.UseCode(t.Context(), "v", domain.KindVerifyEmail, []byte{1}, verify))
	w.has(map[string]int{"users where id = 'v' and email = 'new@x.ch' and email_makers = '{a,v}'": 1,
		"users where id = 'v' and pending_email <> ''": 0, "codes where user_id = 'v'": 0})
}
