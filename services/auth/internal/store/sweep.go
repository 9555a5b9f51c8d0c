package store

import (
	"context"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// sweepBatch is how many rows are deleted at a time, so that no statement holds many locks.
const sweepBatch = 1000

// expiring are the tables whose rows cannot be used after expires_at. Rows of other tables that belong to such a row
// are deleted with it.
var expiring = []string{"tokens", "used_assertions", "revoked_jwts", "auth_requests", "sessions",
	"logins", "devices", "external_logins"}

// byLogin are the tables with rows that depend on a login, with the columns user_id, org_id and credential, besides
// sessions and authorizations. ofPeople are all tables with rows of users, with the columns user_id and org_id, besides
// these two.
var (
	byLogin  = []string{"logins"}
	ofPeople = append(byLogin, "consents")
)

// idle is an SQL condition: the refresh token of the authorization a was not used in time.
const idle = `a.id in (select t.authorization_id from tokens t
		where t.kind = @refresh and t.used_at is null and t.expires_at <= @now)
	and not exists (select from tokens t
		where t.authorization_id = a.id and t.kind = @refresh and t.used_at is null and t.expires_at > @now)`

// DeleteExpired ends a batch of expired authorizations. If there are no more, it deletes a batch of expired rows of
// each table, and of past logins that are older than keep. It reports whether there may be more.
func (s Store) DeleteExpired(ctx context.Context, keep time.Duration) (more bool, err error) {
	now := s.journal.Now()
	over, err := s.endAuthorizations(ctx, event.Delivery{}, `a.expires_at <= @now`, postgres.Args{"now": now})
	if over || err != nil {
		return over, err
	}
	over, err = s.endAuthorizations(ctx, event.Delivery{}, idle,
		postgres.Args{"now": now, "refresh": domain.KindRefresh})
	if over || err != nil {
		return over, err
	}
	for _, table := range expiring {
		// It skips rows that another replica is deleting.
		full, err := s.deleteBatch(ctx, table, `expires_at <= @now`, postgres.Args{"now": now})
		if err != nil {
			return false, err
		}
		more = more || full
	}
	full, err := s.deleteBatch(ctx, "past_logins", `time < @old`, postgres.Args{"old": now.Add(-keep)})
	return more || full, err
}

// DeleteOfUser deletes a batch of a removed user's logins, authorizations and consents. It reports whether there may be
// more.
func (s Store) DeleteOfUser(ctx context.Context, removed event.Delivery) (more bool, err error) {
	return s.deleteWithSessions(ctx, removed, ofPeople, `user_id = @id and user_id <> ''`, removed.AggregateID)
}

// DeleteOfOrg does the same for all users of an organization.
func (s Store) DeleteOfOrg(ctx context.Context, removed event.Delivery) (more bool, err error) {
	return s.deleteWithSessions(ctx, removed, ofPeople, `org_id = @id`, removed.OrganizationID)
}

// deleteWithSessions ends the sessions and authorizations for which a condition on @id holds, and deletes a batch of
// such rows of tables.
func (s Store) deleteWithSessions(
	ctx context.Context, cause event.Delivery, tables []string, where, id string,
) (more bool, err error) {
	more, err = s.endLogins(ctx, cause, where, postgres.Args{"id": id})
	if err != nil {
		return false, err
	}
	for _, table := range tables {
		full, err := s.deleteBatch(ctx, table, where, postgres.Args{"id": id})
		if err != nil {
			return false, err
		}
		more = more || full
	}
	return more, nil
}

// DeleteOfClient deletes a batch of a removed application's authorizations and consents. It reports whether there may
// be more.
func (s Store) DeleteOfClient(ctx context.Context, removed event.Delivery) (more bool, err error) {
	args := postgres.Args{"id": removed.AggregateID}
	more, err = s.endAuthorizations(ctx, removed, `a.client_id = @id`, args)
	if err != nil {
		return false, err
	}
	full, err := s.deleteBatch(ctx, "consents", `client_id = @id`, args)
	return more || full, err
}

func (s Store) deleteBatch(ctx context.Context, table, where string, args postgres.Args) (full bool, err error) {
	args["batch"] = sweepBatch
	done, err := s.journal.DB.Exec(ctx, `delete from `+table+` where ctid = any (array(
			select ctid from `+table+` where `+where+` limit @batch for update skip locked
		))`, args)
	return done.RowsAffected() == sweepBatch, postgres.Fault(err)
}
