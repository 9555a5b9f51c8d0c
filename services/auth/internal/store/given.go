package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/postgres"
)

const (
	// mostGiven is how many applications a person sees.
	mostGiven = 200
	// givenBatch is how many authorizations are ended between two reads.
	givenBatch = 100
)

// Given returns the applications to which a user gave something that is still worth something, or of which it is
// remembered that the user agreed, the last one first.
func (s Store) Given(ctx context.Context, u domain.Subject) ([]domain.Given, error) {
	return postgres.All[domain.Given](ctx, s.journal.DB, `select client_id, max(at) as given_at
		from (
			select client_id, auth_time as at from authorizations
			where user_id = @user_id and user_generation = @user_generation and org_id = @org_id
				and org_generation = @org_generation and project_id <> '' and expires_at > @now
			union all
			select client_id, changed_at from consents where user_id = @user_id
		) given group by client_id order by given_at desc, client_id limit @most`,
		postgres.Args{"user_id": u.ID, "user_generation": u.Generation, "org_id": u.OrgID,
			"org_generation": u.Orgs[u.OrgID].Generation, "now": s.journal.Now(), "most": mostGiven})
}

// TakeBack ends all that a user gave an application. ended is the event of each authorization. It reports whether there
// was any.
func (s Store) TakeBack(ctx context.Context, userID, clientID string, ended proto.Message) (bool, error) {
	for some := false; ; some = true {
		found, err := postgres.All[domain.Authorization](ctx, s.journal.DB, `select `+authorizationFields+`
			from authorizations where user_id = @user_id and user_id <> '' and client_id = @client_id limit @batch`,
			postgres.Args{"user_id": userID, "client_id": clientID, "batch": givenBatch})
		if err != nil || len(found) == 0 {
			return some, err
		}
		for _, a := range found {
			if err := s.End(ctx, a, ended); err != nil {
				return some, err
			}
		}
	}
}
