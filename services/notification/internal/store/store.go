// Package store keeps notifications and their attempts in Postgres. A row is both the
// record of a mail and its place in the queue: what is due is found by one partial
// index, however many mails were sent before.
package store

import (
	"context"
	"embed"
	"time"

	"herald/services/notification/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/search"
)

// Migrations make the tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store is the service's database.
type Store struct{ event.Journal }

// Queue adds notifications, which are due at once, and answers with how many are new: one
// that is known already stays as it is. Whoever adds the same at the same time takes them
// in the same order, and nobody waits for one who waits for them.
func (s Store) Queue(ctx context.Context, all ...domain.Notification) (added int64, err error) {
	var ids, orgs, users, kinds []string
	var times []time.Time
	for _, n := range all {
		ids, orgs, users, kinds, times = append(ids, n.ID), append(orgs, n.OrgID), append(users, n.UserID), append(kinds, n.Kind), append(times, n.CreatedAt)
	}
	tag, err := s.DB.Exec(ctx, `insert into notifications (id, org_id, user_id, kind, created_at, state, due_at)
		select n.*, $6, now() from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[]) n (id, org_id, user_id, kind, created_at)
		order by n.id on conflict (id) do nothing`, ids, orgs, users, kinds, times, domain.Queued)
	return tag.RowsAffected(), postgres.Fault(err)
}

// Begin adds a notification that is claimed from its beginning, for the time of a lease.
func (s Store) Begin(ctx context.Context, n domain.Notification, lease time.Duration) (domain.Claim, error) {
	c := domain.Claim{Notification: n, Fence: 1}
	c.State = domain.Sending
	_, err := s.DB.Exec(ctx, `insert into notifications (`+columns+`, due_at, fence)
		values ($1, $2, $3, $4, $5, $6, $7, $8, now() + $9::interval, $10)`,
		c.ID, c.OrgID, c.UserID, c.Kind, c.State, c.CreatedAt, c.Language, c.Recipient, lease, c.Fence)
	return c, postgres.Fault(err)
}

// Hurry makes a notification to a user due at once, if it waits, and answers with it. A
// test mail waits for nothing.
func (s Store) Hurry(ctx context.Context, orgID, userID, id string) (domain.Notification, error) {
	n, err := postgres.One[domain.Notification](ctx, s.DB, `with hurried as (
			update notifications set due_at = now()
			where org_id = $1 and user_id = $2 and id = $3 and state in ($4, $5) and kind <> $6 returning `+columns+`
		)
		select `+columns+` from hurried union all
		select `+columns+` from notifications where org_id = $1 and user_id = $2 and id = $3 and not exists (select from hurried)`,
		orgID, userID, id, domain.Queued, domain.Retrying, domain.Test)
	return n, postgres.Missing(err, domain.ErrNotFound)
}

// Notification reads a notification to a user.
func (s Store) Notification(ctx context.Context, orgID, userID, id string) (domain.Listed, error) {
	n, err := postgres.One[domain.Listed](ctx, s.DB,
		`select `+listed+` from notifications where org_id = $1 and user_id = $2 and id = $3`, orgID, userID, id)
	return n, postgres.Missing(err, domain.ErrNotFound)
}

const columns = `id, org_id, user_id, kind, state, created_at, language, recipient`

const listed = columns + `, coalesce((
	select jsonb_agg(jsonb_build_object('time', a.time, 'state', a.state, 'reply', a.reply) order by a.number)
	from attempts a where a.notification_id = notifications.id), '[]') as attempts`

// List reads the notifications to a user of an organization.
func (s Store) List(ctx context.Context, orgID, userID string, p search.Page) (search.List[domain.Listed], error) {
	return search.Read[domain.Listed](ctx, s.DB, search.Select(listed, "notifications", "created_at, id").
		Where("org_id = ?", orgID).Where("user_id = ?", userID), p)
}
