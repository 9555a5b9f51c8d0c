package store

import (
	"context"
	"fmt"
	"time"

	"herald/services/users/internal/domain"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// Expiring are the keys, tokens, invitations and certificates.
var Expiring = fmt.Sprintf(`
	select %[1]d as kind, k.id, `+userName+` as name, u.org_id, u.id as owner_id, k.expires_at,
		null::timestamptz as last_used_at, k.created_at as made_at, u.state = %[5]d and o.state = %[6]d as active,
		'machine_key' as aggregate, 'expiration_announced' as event, k.id as aggregate_id,
		jsonb_build_object('userId', u.id) as data
	from machine_keys k join users u on u.id = k.user_id join organizations o on o.id = u.org_id
	union all
	select %[2]d, p.id, p.name, u.org_id, u.id, p.expires_at, p.last_used_at, p.created_at,
		u.state = %[5]d and o.state = %[6]d, 'pat', 'expiration_announced', p.id, jsonb_build_object('userId', u.id)
	from personal_access_tokens p join users u on u.id = p.user_id join organizations o on o.id = u.org_id
	union all
	select %[3]d, u.id, `+userName+`, u.org_id, u.id, c.expires_at, null, c.made_at,
		u.state = %[7]d and o.state = %[6]d, 'human', 'invitation_expiration_announced', u.id, '{}'
	from codes c join users u on u.id = c.user_id join organizations o on o.id = u.org_id
	where c.purpose = '%[4]s'
	union all
	select %[8]d, c.id, c.name, '', '', c.expires_at, null, c.created_at, true, 'certificate', 'expiration_announced',
		c.id, '{}'
	from certificates c`, heraldv1.ExpirationKind_EXPIRATION_KIND_MACHINE_KEY,
	heraldv1.ExpirationKind_EXPIRATION_KIND_PAT, heraldv1.ExpirationKind_EXPIRATION_KIND_INVITATION, domain.KindInit,
	domain.UserActive, domain.OrgActive, domain.UserInitial, heraldv1.ExpirationKind_EXPIRATION_KIND_CERTIFICATE)

// Expirations returns what expires soon.
func (s Store) Expirations(
	ctx context.Context, now time.Time, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	return search.Expirations(ctx, s.journal.DB, search.Expiring(Expiring, now, r), r)
}
