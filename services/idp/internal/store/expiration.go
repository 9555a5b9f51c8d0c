package store

import (
	"context"
	"fmt"

	"herald/services/idp/internal/domain"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// Expiring are the client secrets whose end is known.
var Expiring = fmt.Sprintf(`
	select %d as kind, id, name, org_id, '' as owner_id, secret_expires_at as expires_at,
		null::timestamptz as last_used_at, created_at as made_at, state = %d as active,
		'idp' as aggregate, 'secret_expiration_announced' as event, id as aggregate_id, '{}'::jsonb as data
	from idps where secret_expires_at is not null`,
	heraldv1.ExpirationKind_EXPIRATION_KIND_PROVIDER_SECRET, domain.IdpActive)

// Expirations returns what expires soon.
func (s Store) Expirations(
	ctx context.Context, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	return search.Expirations(ctx, s.journal.DB, search.Expiring(Expiring, s.journal.Now(), r), r)
}
