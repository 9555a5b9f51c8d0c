package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// losses are all changes after which an owner cannot log in or is no owner, also those that no
// method makes. $1 is the id of the owner and of the owner's organization.
var losses = map[string]string{
	"user inactive": `update users set state = 2 where id = $1`,
	"user locked":   `update users set state = 3 where id = $1`,
	"user initial":  `update users set state = 4 where id = $1`,
	"user gone":     `delete from users where id = $1`,
	"user moved":    `update users set org_id = 'asleep' where id = $1`,
	"org inactive":  `update organizations set state = 2 where id = $1`,
	"org gone": `with all_of_it as (delete from users where org_id = $1) delete from organizations
		where id = $1`,
	"member gone":       `delete from members where user_id = $1`,
	"member has less":   `update members set roles = '{IAM_OWNER_VIEWER}' where user_id = $1`,
	"member of another": `update members set org_id = 'asleep' where user_id = $1`,
	"member is another": `update members set user_id = 'not ' || $1 where user_id = $1`,
	"both in one change": `with u as (update users set state = 2 where id = $1) update members set roles = '{}'
		where user_id = $1`,
}

// gains are changes after which the owner is still one who can log in.
var gains = map[string]string{
	"another name": `update users set user_name = 'other', generation = 2 where id = $1`,
	"another role": `update members set roles = '{IAM_OWNER_VIEWER,IAM_OWNER}' where user_id = $1`,
	"renamed org":  `update organizations set name = 'other' where id = $1`,
	"second member": `insert into members (user_id, org_id, roles, state, sequence, created_at, changed_at)
		values ($1, $1, '{ORG_OWNER}', 1, 1, now(), now())`,
}

// setOwners replaces the instance by one with these owners. All other users are locked, and the
// organization asleep is inactive.
func (w world) setOwners(ids ...string) {
	w.Helper()
	args := postgres.Args{"owners": ids}
	var b pgx.Batch // one transaction
	// Without an instance the rule of the owner does not apply.
	for _, table := range []string{"instance", "users", "organizations"} {
		b.Queue(`delete from ` + table)
	}
	b.Queue(`insert into organizations (id, name, name_folded, primary_domain, state, sequence, created_at, changed_at)
		select n, n, n, n, case n when 'asleep' then 2 else 1 end, 1, now(), now()
		from unnest(@owners::text[] || '{nobody,asleep}') n`, args)
	b.Queue(`insert into users (id, org_id, type, state, user_name, user_name_folded, sequence, created_at, changed_at)
		select n, n, 1, 1, n, n, 1, now(), now() from unnest(@owners::text[]) n union all
		select n, 'nobody', 1, 3, n, n, 1, now(), now() from unnest('{nobody,not a,not b}'::text[]) n`, args)
	// The last one has the role in an organization, where it does not count.
	b.Queue(`insert into members (user_id, org_id, roles, state, sequence, created_at, changed_at)
		select n, '', '{IAM_OWNER}'::text[], 1, 1, now(), now() from unnest(@owners::text[]) n union all
		select 'nobody', 'nobody', '{IAM_OWNER}', 1, 1, now(), now()`, args)
	b.Queue(`insert into instance (org_id, administrator) values ('nobody', 'nobody')`)
	if err := w.db.SendBatch(w.Context(), &b).Close(); err != nil {
		w.Fatal(err)
	}
}

// lastOwner reports whether an error is that of the rule, and fails the test for all others.
func (w world) lastOwner(what string, err error) bool {
	w.Helper()
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if err != nil && (!ok || pg.ConstraintName != "instance_has_owner") {
		w.Fatalf("%s: %v", what, err)
	}
	return err != nil
}

func TestInstanceHasOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for what, sql := range losses {
		w.setOwners("a")
		if _, err := w.db.Exec(t.Context(), sql, "a"); !w.lastOwner(what, err) {
			t.Errorf("%s: the last owner is gone: a trigger instance_has_owner has to refuse it", what)
		}
		w.setOwners("a", "b")
		if _, err := w.db.Exec(t.Context(), sql, "a"); w.lastOwner(what, err) {
			t.Errorf("%s: refused, but there is another owner", what)
		}
	}
	for what, sql := range gains {
		w.setOwners("a")
		if _, err := w.db.Exec(t.Context(), sql, "a"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Of two changes at once that would take away the last two owners, the second waits for the first
// and is refused.
func TestInstanceHasOwnerAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for first, one := range losses {
		for second, other := range losses {
			w.setOwners("a", "b")
			if w.bothAtOnce(first, one, second, other); t.Failed() {
				return
			}
		}
	}
}

func (w world) bothAtOnce(first, one, second, other string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	tx, err := w.db.Begin(ctx)
	if err != nil {
		w.Fatal(err)
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, one, "a"); err != nil {
		w.Fatalf("%s: %v", first, err)
	}
	err = w.whileLocked(tx, func() error {
		_, err := w.db.Exec(ctx, other, "b")
		return err
	})
	if !w.lastOwner(second, err) {
		w.Errorf("%s, and %s at once: nobody owns the instance", first, second)
	}
}

// The methods of the store return the fault of the rule.
func TestLastOwnerIsAFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setOwners("a")
	for _, state := range []domain.UserState{domain.UserInactive, domain.UserLocked, domain.UserInitial} {
		_, _, err := w.ChangeUser(t.Context(), "a", "a", func(u *domain.User) (store.UserChange, error) {
			u.State = state
			return store.UserChange{Event: happened}, nil
		})
		if !errors.Is(err, usersfault.ErrLastIAMOwner) {
			t.Errorf("state %d: %v", state, err)
		}
	}
	_, err := w.ChangeOrg(t.Context(), "a", func(org *domain.Org) (proto.Message, error) {
		org.State = domain.OrgInactive
		return happened, nil
	})
	if !errors.Is(err, usersfault.ErrLastIAMOwner) {
		t.Errorf("organization: %v", err)
	}
	_, err = w.ChangeMember(t.Context(), "", "", "a", roles())
	if !errors.Is(err, usersfault.ErrLastIAMOwner) {
		t.Errorf("member: %v", err)
	}
}

// The names for states in migrations have the numbers of the domain.
func TestStatesByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var user domain.UserState
	var org, removed domain.OrgState
	if err := w.db.QueryRow(t.Context(), `select user_active(), org_active(), org_removed()`).Scan(&user, &org,
		&removed); err != nil {
		t.Fatal(err)
	}
	if user != domain.UserActive || org != domain.OrgActive || removed != domain.OrgRemoved {
		t.Errorf("active is %d for users, %d for organizations, %d is removed", user, org, removed)
	}
}
