package search

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/types/known/timestamppb"

	heraldv1 "herald/shared/gen/herald/v1"
)

// expiring is what the SQL of Expirations returns.
type expiring struct {
	Kind                     heraldv1.ExpirationKind
	ID, Name, OrgID, OwnerID string
	ExpiresAt                time.Time
	LastUsedAt               *time.Time
}

// Expirations returns what expires between a time and the end of the request, the soonest first. The SQL is a select of
// (kind, id, name, org_id, owner_id, expires_at, last_used_at) of all that expires in the service. It may have more
// columns, such as those of shared/expiration.
func Expirations(
	ctx context.Context, db *pgxpool.Pool, sql string, now time.Time, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	q := Select("kind, id, name, org_id, owner_id, expires_at, last_used_at", "expirations", "expires_at, id").
		Of(sql).Where("expires_at > ?", now).Where("expires_at <= ?", r.Until.AsTime()).Where("kind = any (?)", r.Kinds)
	if r.OrgId != "" {
		q.Where("org_id = ?", r.OrgId)
	}
	rows, err := Rows[expiring](ctx, db, q, Page{Limit: r.Limit, Asc: true})
	if err != nil {
		return nil, err
	}
	return &heraldv1.ReadExpirationsResponse{Result: Each(rows, expiring.message)}, nil
}

func (r expiring) message() *heraldv1.Expiration {
	e := &heraldv1.Expiration{
		Kind: r.Kind, Id: r.ID, Name: r.Name, OrganizationId: r.OrgID, OwnerId: r.OwnerID,
		ExpirationDate: timestamppb.New(r.ExpiresAt),
	}
	if r.LastUsedAt != nil {
		e.LastUsed = timestamppb.New(*r.LastUsedAt)
	}
	return e
}
