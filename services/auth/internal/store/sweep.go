package store

import (
	"context"

	"herald/shared/postgres"
)

// sweepBatch is how many rows are deleted at a time, so that no statement holds many locks.
const sweepBatch = 1000

// expiring are the tables whose rows cannot be used after expires_at. Rows of other tables that belong to such a row
// are deleted with it.
var expiring = []string{"tokens", "authorizations", "used_assertions", "revoked_jwts", "auth_requests", "sessions",
	"logins", "devices", "external_logins"}

// byLogin are the tables with rows that depend on a login, with the columns user_id, org_id and credential, besides
// sessions. ofPeople are all tables with rows of users, with the columns user_id and org_id, besides sessions.
var (
	byLogin  = []string{"logins", "authorizations"}
	ofPeople = append(byLogin, "consents")
)

// ofClients are the tables with rows of applications, with the column client_id.
var ofClients = []string{"authorizations", "consents"}

// DeleteExpired deletes a batch of expired rows of each table. It reports whether there may be more.
func (s Store) DeleteExpired(ctx context.Context) (more bool, err error) {
	for _, table := range expiring {
		// It skips rows that another replica is deleting.
		full, err := s.deleteBatch(ctx, table, `expires_at <= @now`, postgres.Args{"now": s.journal.Now()})
		if err != nil {
			return false, err
		}
		more = more || full
	}
	return more, nil
}

// DeleteOfUser deletes a batch of a user's logins, authorizations and consents. It reports whether there may be more.
func (s Store) DeleteOfUser(ctx context.Context, userID string) (more bool, err error) {
	return s.deleteWithSessions(ctx, ofPeople, `user_id = @id and user_id <> ''`, userID)
}

// DeleteOfOrg does the same for all users of an organization.
func (s Store) DeleteOfOrg(ctx context.Context, orgID string) (more bool, err error) {
	return s.deleteWithSessions(ctx, ofPeople, `org_id = @id`, orgID)
}

// deleteWithSessions ends the sessions for which a condition on @id holds, and deletes a batch of such rows of tables.
func (s Store) deleteWithSessions(ctx context.Context, tables []string, where, id string) (more bool, err error) {
	more, err = s.endSessions(ctx, where, postgres.Args{"id": id})
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

// DeleteOfClient deletes a batch of an application's authorizations and consents. It reports whether there may be more.
func (s Store) DeleteOfClient(ctx context.Context, clientID string) (more bool, err error) {
	for _, table := range ofClients {
		full, err := s.deleteBatch(ctx, table, `client_id = @id`, postgres.Args{"id": clientID})
		if err != nil {
			return false, err
		}
		more = more || full
	}
	return more, nil
}

func (s Store) deleteBatch(ctx context.Context, table, where string, args postgres.Args) (full bool, err error) {
	args["batch"] = sweepBatch
	done, err := s.journal.DB.Exec(ctx, `delete from `+table+` where ctid = any (array(
			select ctid from `+table+` where `+where+` limit @batch for update skip locked
		))`, args)
	return done.RowsAffected() == sweepBatch, postgres.Fault(err)
}
