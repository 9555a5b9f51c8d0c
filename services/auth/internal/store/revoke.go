package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// RevokeToken ends an access token: an opaque one, which is stored under its hash, or a JSON Web Token, whose id is
// stored as revoked until it expires. revoked is the event. If the token has ended already, nothing is written.
func (s Store) RevokeToken(ctx context.Context, t domain.Token, hash []byte, revoked proto.Message) error {
	end := event.Statement{
		AggregateID: t.ID, OrganizationID: t.OrgID, If: `exists (select from tokens where hash = @hash)`,
		SQL:  `revoked as (delete from tokens using event where hash = @hash)`,
		Args: postgres.Args{"hash": hash},
	}
	if t.JTI != "" {
		end.If = `not exists (select from revoked_jwts where id = @jti)`
		end.SQL = `revoked as (
			insert into revoked_jwts (id, expires_at) select @jti, @expires_at from event on conflict do nothing
		)`
		end.Args = postgres.Args{"jti": t.JTI, "expires_at": t.TokenExpiresAt}
	}
	if end.AggregateID == "" { // the authorization of a machine's JSON Web Token is not stored
		end.AggregateID = t.JTI
	}
	if end.OrganizationID == "" {
		end.OrganizationID = t.ClientOrgID
	}
	_, err := s.journal.Create(ctx, revoked, end)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
