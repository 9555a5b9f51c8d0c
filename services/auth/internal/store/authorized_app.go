package store

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/gen/fault/authfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

// endBatch is how many authorizations are read at a time, to end them.
const endBatch = 100

// AuthorizedApps lists the applications to which a user gave access that has not ended, or consent.
func (s Store) AuthorizedApps(
	ctx context.Context, u domain.Subject, p search.Page,
) (search.List[domain.AuthorizedApp], error) {
	return search.Read[domain.AuthorizedApp](ctx, s.journal.DB, search.Select("client_id, given_at", "given",
		"given_at, client_id").Of(`select client_id, max(at) as given_at
		from (
			select client_id, auth_time as at from authorizations
			where user_id = ? and user_generation = ? and org_id = ? and org_generation = ? and project_id <> ''
				and expires_at > ?
			union all
			select client_id, changed_at from consents where user_id = ?
		) each_time group by client_id`,
		u.ID, u.Generation, u.OrgID, u.Orgs[u.OrgID].Generation, s.journal.Now(), u.ID), p)
}

// RevokeApp ends the access of an application to a user, and deletes their consent. withdrawn is the event of the
// consent, and ended that of each authorization. It returns the position and time of the last event, and
// authfault.ErrAuthorizedAppNotFound if the application had no access.
func (s Store) RevokeApp(
	ctx context.Context, userID, clientID string, withdrawn, ended proto.Message,
) (resource.Record, error) {
	agreed, err := s.WithdrawConsent(ctx, userID, clientID, withdrawn)
	if err != nil && !errors.Is(err, authfault.ErrConsentNotFound) {
		return resource.Record{}, err
	}
	last, err := s.endApp(ctx, userID, clientID, ended)
	if last.Sequence == 0 {
		last = agreed
	}
	if err == nil && last.Sequence == 0 {
		err = authfault.ErrAuthorizedAppNotFound
	}
	return last, err
}

// endApp ends all authorizations that a user gave an application. It returns the position and time of the last event;
// zero if there was none.
func (s Store) endApp(
	ctx context.Context, userID, clientID string, ended proto.Message,
) (last resource.Record, err error) {
	for {
		found, err := postgres.All[domain.Authorization](ctx, s.journal.DB, `select `+authorizationFields+`
			from authorizations where user_id = @user_id and user_id <> '' and client_id = @client_id limit @batch`,
			postgres.Args{"user_id": userID, "client_id": clientID, "batch": endBatch})
		if err != nil || len(found) == 0 {
			return last, err
		}
		for _, a := range found {
			e, err := s.end(ctx, a, ended, `true`, nil)
			if err != nil {
				return last, err
			}
			if e.There {
				last = e.At
			}
		}
	}
}
