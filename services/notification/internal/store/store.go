// Package store keeps notifications and their attempts in Postgres. A row is both the
// record of a mail and its place in the queue: what is due is found by one partial
// index, however many mails were sent before.
package store

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/notification/internal/domain"
	"herald/shared/page"
	"herald/shared/postgres"
)

// Migrations make the tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store is the service's database.
type Store struct{ DB *pgxpool.Pool }

// Queue adds a notification, which is due at once; one that is known already stays as it is.
func (s Store) Queue(ctx context.Context, n domain.Notification) error {
	_, err := s.DB.Exec(ctx, `insert into notifications (id, org_id, user_id, kind, state, created_at, due_at)
		values ($1, $2, $3, $4, $5, $6, now()) on conflict (id) do nothing`,
		n.ID, n.OrgID, n.UserID, n.Kind, domain.Queued, n.CreatedAt)
	return postgres.Fault(err)
}

const listed = `id, org_id, user_id, kind, state, created_at, language, recipient, coalesce((
	select jsonb_agg(jsonb_build_object('time', a.time, 'state', a.state, 'reply', a.reply) order by a.number)
	from attempts a where a.notification_id = notifications.id), '[]') as attempts`

// List reads the notifications to a user of an organization.
func (s Store) List(ctx context.Context, orgID, userID string, p page.Page) (page.List[domain.Listed], error) {
	return page.Read[domain.Listed](ctx, s.DB, page.Select(listed, "notifications", "created_at, id").
		Where("org_id = ?", orgID).Where("user_id = ?", userID), p)
}
