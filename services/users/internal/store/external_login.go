package store

import (
	"context"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// ExternalLogin returns the user who is linked to an account at an identity provider, or usersfault.ErrIdpLinkNotFound.
func (s Store) ExternalLogin(ctx context.Context, idpID, externalUserID string) (domain.ExternalLogin, error) {
	l, err := postgres.One[domain.ExternalLogin](ctx, s.journal.DB, `select `+postgres.Each("u.", userColumns)+`,
			o.state as org_state, o.generation as org_generation, l.tenant_id,
			idp_credential(l.idp_id, l.external_user_id) as credential,
			exists (select from otp_factors f where f.user_id = u.id and f.state = @ready) as otp_ready
		from user_idp_links l join users u on u.id = l.user_id
		join organizations o on o.id = u.org_id and o.state <> org_removed()
		where l.idp_id = @idp_id and l.external_user_id = @external_user_id`,
		postgres.Args{"idp_id": idpID, "external_user_id": externalUserID, "ready": domain.FactorReady})
	return l, postgres.Missing(err, usersfault.ErrIdpLinkNotFound)
}
