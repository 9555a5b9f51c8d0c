// Package store keeps notifications and their attempts in Postgres. The table of notifications is
// also the queue: a partial index finds those that are due, however many were sent before.
package store

import (
	"context"
	"embed"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/services/notification/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/notificationfault"
	"herald/shared/postgres"
	"herald/shared/search"
)

// Migrations make the tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store reads and writes the service's database.
type Store struct{ journal event.Journal }

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store { return Store{j} }

// Now returns the time for changes.
func (s Store) Now() time.Time { return s.journal.Now() }

// Queue adds notifications, which are due at once, and returns how many are new. It does not change
// those that exist. It inserts in the order of ids, so that simultaneous calls with the same
// notifications cannot deadlock.
func (s Store) Queue(ctx context.Context, all ...domain.Notification) (added int64, err error) {
	var ids, orgs, users, kinds []string
	var times []time.Time
	for _, n := range all {
		ids, orgs, users = append(ids, n.ID), append(orgs, n.OrgID), append(users, n.UserID)
		kinds, times = append(kinds, string(n.Kind)), append(times, n.CreatedAt)
	}
	tag, err := s.journal.DB.Exec(ctx, `insert into notifications (id, org_id, user_id, kind, created_at, state, due_at)
		select n.*, case when restored.before then @uncertain::smallint else @queued end,
			case when restored.before then null else now() end
		from unnest(@ids::text[], @orgs::text[], @users::text[], @kinds::text[], @times::timestamptz[])
			n (id, org_id, user_id, kind, created_at), lateral (select exists (
				select from restored where at > n.created_at) as before) restored
		order by n.id on conflict (id) do nothing`,
		postgres.Args{"ids": ids, "orgs": orgs, "users": users, "kinds": kinds, "times": times,
			"queued": domain.Queued, "uncertain": domain.Uncertain})
	return tag.RowsAffected(), postgres.Fault(err)
}

// Begin adds a test mail together with a claim of it, for the time of a lease. It fails with ErrTooManyTestMails if
// the user has sent as many as a user may. The lock lets simultaneous calls count one after the other.
func (s Store) Begin(ctx context.Context, n domain.Notification, lease time.Duration) (domain.Claim, error) {
	c := domain.Claim{Notification: n, Fence: 1}
	c.State = domain.Sending
	err := pgx.BeginFunc(ctx, s.journal.DB, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select from smtp for update`); err != nil {
			return err
		}
		added, err := tx.Exec(ctx, `insert into notifications (`+columns+`, due_at, fence)
			select @id, @org_id, @user_id, @kind, @state, @created_at, @language, @recipient, now() + @lease::interval,
				@fence
			where @most > (select count(*) from notifications where org_id = @org_id and user_id = @user_id
				and kind = @kind and created_at > @since)`,
			postgres.Args{
				"id": c.ID, "org_id": c.OrgID, "user_id": c.UserID, "kind": c.Kind, "state": c.State,
				"created_at": c.CreatedAt, "language": c.Language, "recipient": c.Recipient,
				"lease": lease, "fence": c.Fence,
				"most": domain.MostTests, "since": c.CreatedAt.Add(-domain.TestsTime),
			})
		if err == nil && added.RowsAffected() == 0 {
			return notificationfault.ErrTooManyTestMails
		}
		return err
	})
	return c, postgres.Fault(err)
}

// Hurry makes a notification to a user due at once, if it waits, and returns it. It does not change
// test mails.
func (s Store) Hurry(ctx context.Context, orgID, userID, id string) (domain.Notification, error) {
	n, err := postgres.One[domain.Notification](ctx, s.journal.DB, `with hurried as (
			update notifications set due_at = now()
			where `+ofUser+` and state in (@queued, @retrying) and kind <> @test returning `+columns+`
		)
		select `+columns+` from hurried union all
		select `+columns+` from notifications where `+ofUser+` and not exists (select from hurried)`,
		postgres.Args{
			"org_id": orgID, "user_id": userID, "id": id,
			"queued": domain.Queued, "retrying": domain.Retrying, "test": domain.Test,
		})
	return n, postgres.Missing(err, notificationfault.ErrNotificationNotFound)
}

// Notification returns a notification to a user.
func (s Store) Notification(ctx context.Context, orgID, userID, id string) (domain.Listed, error) {
	n, err := postgres.One[domain.Listed](ctx, s.journal.DB,
		`select `+listed+` from notifications where `+ofUser,
		postgres.Args{"org_id": orgID, "user_id": userID, "id": id})
	return n, postgres.Missing(err, notificationfault.ErrNotificationNotFound)
}

// ofUser finds a notification to a user.
const ofUser = `id = @id and org_id is not distinct from @org_id and user_id is not distinct from @user_id`

const columns = `id, org_id, user_id, kind, state, created_at, language, recipient`

const listed = columns + `, coalesce((
	select jsonb_agg(jsonb_build_object('time', a.time, 'state', a.state, 'reply', a.reply) order by a.number)
	from attempts a where a.notification_id = notifications.id), '[]') as attempts`

// List returns the notifications to a user of an organization.
func (s Store) List(ctx context.Context, orgID, userID string, p search.Page) (search.List[domain.Listed], error) {
	return search.Read[domain.Listed](ctx, s.journal.DB, search.Select(listed, "notifications", "created_at, id").
		Where("org_id = ?", orgID).Where("user_id = ?", userID), p)
}

// Forget removes the notifications to a removed user, also those that an older release recorded without organization.
// The outcome of a mail that is being sent cannot be recorded any more.
func (s Store) Forget(ctx context.Context, orgID, userID string) error {
	_, err := s.journal.DB.Exec(ctx,
		`delete from notifications where org_id in (@org_id, '') and user_id = @user_id`,
		postgres.Args{"org_id": orgID, "user_id": userID})
	return postgres.Fault(err)
}
