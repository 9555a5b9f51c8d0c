package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/testkit"
)

// A role that is given while a change of its user is under way counts: the change waits for it and is refused.
func TestPromotionDuringChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, world) error{
		"user": func(ctx context.Context, w world) error {
			_, _, err := w.ChangeUser(ctx, "org-a", "u1", func(u *domain.User) (store.UserChange, error) {
				u.Email = "planted@example.com"
				return store.UserChange{Event: happened}, nil
			})
			return err
		},
		"token": func(ctx context.Context, w world) error {
			_, err := w.CreatePAT(ctx, token("u1", "org-a", "t2"), []byte{2}, noted)
			return err
		},
		"removed token": func(ctx context.Context, w world) error {
			_, err := w.RemovePAT(ctx, "org-a", "u1", "t1", happened)
			return err
		},
		"metadata": func(ctx context.Context, w world) error {
			_, err := w.SetMetadata(ctx, "org-a", "u1", "k", func(m *domain.Metadata) (proto.Message, error) {
				m.Value = []byte("v")
				return happened, nil
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.org("org-a")
			w.user("org-a", "u1")
			w.must(w.CreatePAT(t.Context(), token("u1", "org-a", "t1"), []byte{1}, noted))
			ctx := caller.With(t.Context(), caller.Caller{UserID: "manager", OrganizationID: "org-a"})
			target := &caller.Target{UserID: "u1"}
			target.LeaveToChange()
			ctx = caller.WithTarget(ctx, target)
			tx := w.begin(`insert into members (
				user_id, org_id, project_id, roles, state, sequence, created_at, changed_at)
				values ('u1', 'org-a', '', '{ORG_OWNER}', 1, 1, now(), now())`)
			if err := w.whileLocked(tx,
				func() error { return change(ctx, w) }); !errors.Is(err, usersfault.ErrEscalation) {
				t.Errorf("after the promotion: %v, want %v", err, usersfault.ErrEscalation)
			}
			if n := testkit.Rows(t, w.db, "personal_access_tokens") + testkit.Rows(t, w.db, "user_metadata"); n != 1 {
				t.Errorf("%d tokens and metadata are left, want the first token", n)
			}
		})
	}
}

// A change that is under way when a role is given counts: the promotion waits for it and ends what it made.
func TestChangeDuringPromotion(t *testing.T) {
	t.Parallel()
	for name, promotion := range map[string]func(world) error{
		"new member": func(w world) error {
			return w.createMember(owner("u1", "org-a", ""))
		},
		"new role": func(w world) error {
			_, err := w.ChangeMember(w.Context(), "org-a", "p1", "u1", roles("PROJECT_OWNER"))
			return err
		},
		"project's first owner": func(w world) error {
			return w.CreateProjectOwner(w.Context(), owner("u1", "org-a", "p2"), happened)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.org("org-a")
			w.user("org-a", "u1")
			w.must(w.CreateMember(t.Context(), domain.Member{
				UserID: "u1", OrgID: "org-a", ProjectID: "p1", Roles: []string{"PROJECT_OWNER_VIEWER"},
			}, joined))
			w.must(w.CreatePAT(t.Context(), token("u1", "org-a", "t1"), []byte{1}, noted))
			tx := w.begin(`with locked as (select from users where id = 'u1' for update)
				update personal_access_tokens set makers = '{manager}' from locked`)
			if err := w.whileLocked(tx, func() error { return promotion(w) }); err != nil {
				t.Error(err)
			}
			if n := testkit.Rows(t, w.db, "personal_access_tokens"); n != 0 {
				t.Error("the token that a manager made meanwhile is left")
			}
		})
	}
}

// A role in the instance that is given while the organization of its user is being ended counts: the end waits for
// it and is refused.
func TestPromotionDuringEndOfOrganization(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, world) error{
		"deactivated": func(ctx context.Context, w world) error {
			_, err := w.EndLogins(ctx, "org-a", func(o *domain.Org) (proto.Message, error) {
				return happened, o.Deactivate()
			})
			return err
		},
		"removed": func(ctx context.Context, w world) error {
			_, err := w.RemoveOrg(ctx, "org-a", happened)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.org("org-a")
			w.user("org-a", "u1")
			ctx := caller.With(t.Context(), caller.Caller{UserID: "owner", OrganizationID: "org-a",
				Memberships: []caller.Membership{owner("owner", "org-a", "").Membership()}})
			tx := w.begin(`with locked as (select from organizations where id = 'org-a' for share)
				insert into members (user_id, org_id, project_id, roles, state, sequence, created_at, changed_at)
				select 'u1', '', '', '{IAM_OWNER_VIEWER}', 1, 1, now(), now() from locked`)
			if err := w.whileLocked(tx,
				func() error { return end(ctx, w) }); !errors.Is(err, usersfault.ErrEscalation) {
				t.Errorf("after the promotion: %v, want %v", err, usersfault.ErrEscalation)
			}
			w.must(w.db.Exec(ctx, `update members set roles = '{}'`))
			if err := end(ctx, w); err != nil {
				t.Errorf("without the role: %v", err)
			}
		})
	}
}

// A role is not given while the organization of its user is being ended, which otherwise would not see it.
func TestEndOfOrganizationDuringPromotion(t *testing.T) {
	t.Parallel()
	for name, promotion := range map[string]func(world) error{
		"new member": func(w world) error {
			return w.createMember(domain.Member{UserID: "u1", Roles: []string{"IAM_OWNER"}})
		},
		"new role": func(w world) error {
			_, err := w.ChangeMember(w.Context(), "", "", "u2", roles("IAM_OWNER"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.org("org-a")
			w.user("org-a", "u1")
			w.user("org-a", "u2")
			w.must(nil, w.createMember(domain.Member{UserID: "u2", Roles: []string{"IAM_OWNER_VIEWER"}}))
			tx := w.begin(`select from organizations where id = 'org-a' for update`)
			if err := w.whileLocked(tx, func() error { return promotion(w) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// A new secret of a second factor waits while a role is given, which otherwise would not see who made it.
func TestFactorDuringPromotion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.user("org-a", "k")
	w.must(w.CreateOTP(t.Context(), app("k", "org-a"), happened))
	tx := w.begin(`select from users where id = 'k' for update`)
	if err := w.whileLocked(tx, func() error {
		return w.changeFactor("k", "", func(f *domain.OTP) { f.Secret = []byte("another") })
	}); err != nil {
		t.Error(err)
	}
}

// A change of somebody who belongs to another organization waits for nobody there, and so holds nobody up.
func TestChangeElsewhereWaitsForNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	w.org("org-b")
	w.user("org-b", "u1")
	tx := w.begin(`select from users where id = 'u1' for update`)
	target := &caller.Target{UserID: "u1"}
	target.LeaveToChange()
	ctx := caller.With(t.Context(), caller.Caller{UserID: "manager", OrganizationID: "org-a"})
	ctx = caller.WithTarget(ctx, target)
	_, _, err := w.ChangeUser(ctx, "org-a", "u1", func(*domain.User) (store.UserChange, error) {
		return store.UserChange{Event: happened}, nil
	})
	if !errors.Is(err, usersfault.ErrUserNotFound) {
		t.Errorf("got %v, want %v", err, usersfault.ErrUserNotFound)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Errorf("the change waited until Postgres ended the transaction with the lock: %v", err)
	}
}

// begin begins a transaction with a statement.
func (w world) begin(sql string) pgx.Tx {
	w.Helper()
	tx, err := w.db.Begin(w.Context())
	w.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if err == nil {
		_, err = tx.Exec(w.Context(), sql)
	}
	if err != nil {
		w.Fatal(err)
	}
	return tx
}
