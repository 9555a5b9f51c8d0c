package store

import (
	"context"
	"fmt"

	"herald/services/projects/internal/domain"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// Expiring are the keys and the former secrets of applications.
var Expiring = fmt.Sprintf(`
	select %[1]d as kind, k.id, a.name, a.org_id, a.id as owner_id, k.expires_at, null::timestamptz as last_used_at,
		k.created_at as made_at, a.state = %[3]d and p.state = %[4]d as active, 'application' as aggregate,
		'key_expiration_announced' as event, a.id as aggregate_id,
		jsonb_build_object('projectId', p.id, 'keyId', k.id) as data
	from application_keys k join applications a on a.id = k.application_id join projects p on p.id = a.project_id
	union all
	select %[2]d, a.id, a.name, a.org_id, a.id, a.former_secret_until, null, a.created_at,
		a.state = %[3]d and p.state = %[4]d, 'application', 'secret_expiration_announced', a.id,
		jsonb_build_object('projectId', p.id)
	from applications a join projects p on p.id = a.project_id where a.former_secret_until is not null`,
	heraldv1.ExpirationKind_EXPIRATION_KIND_APPLICATION_KEY, heraldv1.ExpirationKind_EXPIRATION_KIND_CLIENT_SECRET,
	domain.AppActive, domain.ProjectActive)

// Expirations returns what expires soon.
func (s Store) Expirations(
	ctx context.Context, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	return search.Expirations(ctx, s.journal.DB, search.Expiring(Expiring, s.Now(), r), r)
}
