package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/authfault"
	"herald/shared/postgres"
	"herald/shared/resource"
)

const consentFields = `user_id, client_id, org_id, client_org_id, scopes, created_at, changed_at`

// Consent returns the consent of a person for a client, or the zero Consent.
func (s Store) Consent(ctx context.Context, userID, clientID string) (domain.Consent, error) {
	c, err := postgres.One[domain.Consent](ctx, s.journal.DB,
		`select `+consentFields+` from consents where user_id = @user_id and client_id = @client_id`,
		postgres.Args{"user_id": userID, "client_id": clientID})
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.Consent{}, nil
	}
	return c, postgres.Fault(err)
}

// GiveConsent adds scopes to the consent of a person for a client. given is the event.
func (s Store) GiveConsent(ctx context.Context, c domain.Consent, given proto.Message) error {
	_, err := s.journal.Create(ctx, given, event.Statement{
		AggregateID: c.UserID, OrganizationID: c.OrgID,
		SQL: `agreed as (
			insert into consents as c (` + consentFields + `)
			select @user_id, @client_id, @org_id, @client_org_id, @scopes, time, time from event
			on conflict (user_id, client_id) do update set org_id = excluded.org_id, changed_at = excluded.changed_at,
				client_org_id = excluded.client_org_id,
				scopes = array(select unnest(c.scopes) union select unnest(excluded.scopes) order by 1)
		)`,
		Args: postgres.Args{"user_id": c.UserID, "client_id": c.ClientID, "org_id": c.OrgID,
			"client_org_id": c.ClientOrgID, "scopes": list(c.Scopes)},
	})
	return err
}

// WithdrawConsent deletes the consent of a person for a client, and ends all authorizations that the person gave the
// client. withdrawn is the event, whose position and time it returns. It returns authfault.ErrConsentNotFound if there
// is no such consent.
func (s Store) WithdrawConsent(
	ctx context.Context, userID, clientID string, withdrawn proto.Message,
) (resource.Record, error) {
	w, err := event.Change(ctx, s.journal, event.Locked[Ended]{
		Lock: `select org_id from consents where user_id = @user_id and client_id = @client_id for update`,
		Args: postgres.Args{"user_id": userID, "client_id": clientID}, NotFound: authfault.ErrConsentNotFound,
		Write: func(w Ended) event.Statement {
			return event.Statement{
				AggregateID: userID, OrganizationID: w.OrgID,
				Along: endedEvents(`a.user_id = @user_id and a.client_id = @client_id`),
				SQL: `withdrawn as (
					delete from consents c using event where c.user_id = @user_id and c.client_id = @client_id
				), authorizations_too as (
					delete from authorizations a using event where a.user_id = @user_id and a.client_id = @client_id
				)`,
				Args: postgres.Args{"user_id": userID, "client_id": clientID,
					"by": domain.EndTakenBack},
			}
		},
	}, func(*Ended) (proto.Message, error) { return withdrawn, nil })
	return w.At, err
}
