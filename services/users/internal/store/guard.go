package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// membershipsOf selects the memberships of users of an organization: in the organization, its projects and the
// instance. Users of other organizations are left out, because roles elsewhere do not protect a user from the user's
// own organization.
var membershipsOf = `select ` + prefixed("m", memberColumns) + `
	from active_members m join users u on u.id = m.user_id
	where u.org_id = @org_id and m.org_id in ('', @org_id) and u.id = `

// MembershipsOf returns the memberships of users of an organization in it, in its projects and in the instance.
func (s Store) MembershipsOf(ctx context.Context, orgID string, userIDs []string) ([]domain.Member, error) {
	return postgres.All[domain.Member](ctx, s.journal.DB, membershipsOf+`any (@user_ids)`,
		postgres.Args{"org_id": orgID, "user_ids": userIDs})
}

// lockUser locks a user whose rights or credentials change. A statement that gives roles locks the user first too. So
// it runs before a change of the user begins, or sees everything that the change has made.
func lockUser(id string) event.Lock {
	return event.Lock{
		SQL: `select from users where id = @user_id for update`, Args: postgres.Args{"user_id": id},
		NotFound: usersfault.ErrUserNotFound,
	}
}

// lockReceiver is lockUser for a user who gets a role. It also locks the user's organization, because some roles refuse
// the deactivation and the removal of the organization.
func lockReceiver(id string) event.Lock {
	l := lockUser(id)
	l.SQL = `select from users u join organizations o on o.id = u.org_id where u.id = @user_id
		for update of u for share of o`
	return l
}

// guard refuses, in the transaction of a change, a caller who lacks a permission of the user acted on.
func guard(ctx context.Context, target *caller.Target, b *pgx.Batch) {
	c := caller.From(ctx)
	b.Queue(`select from users where id = @id and org_id is not distinct from @org_id for update`,
		postgres.Args{"org_id": c.OrganizationID, "id": target.UserID})
	// One id and no list: for lists Postgres makes a new plan every time.
	args := postgres.Args{"org_id": c.OrganizationID, "user_id": target.UserID}
	b.Queue(membershipsOf+`@user_id`, args).Query(func(rows pgx.Rows) error {
		target.Checked()
		return covers(c, rows)
	})
}

// guardOrg refuses, in the transaction that ends an organization, a caller who lacks a permission that a user of
// the organization has in the instance: without the organization that user cannot log in.
func guardOrg(ctx context.Context, id string) func(*pgx.Batch) {
	return func(b *pgx.Batch) {
		b.Queue(`select `+prefixed("m", memberColumns)+` from active_members m join users u on u.id = m.user_id
			where m.org_id = '' and u.org_id = @org_id`, postgres.Args{"org_id": id}).
			Query(func(rows pgx.Rows) error { return covers(caller.From(ctx), rows) })
	}
}

// covers returns a fault if the caller lacks a permission of the memberships in rows.
func covers(c caller.Caller, rows pgx.Rows) error {
	theirs, err := pgx.CollectRows(rows, pgx.RowToStructByName[domain.Member])
	if err != nil {
		return err
	}
	return domain.CheckEscalation(c.Memberships, c.OrganizationID, theirs...)
}
