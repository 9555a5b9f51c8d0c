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

// Expiring is a list of what expires between a time and the end of the request. The SQL is a select of (kind, id, name,
// org_id, owner_id, expires_at, last_used_at, active) of all that expires in the service. It may have more columns,
// such as those of shared/expiration.
func Expiring(sql string, now time.Time, r *heraldv1.ReadExpirationsRequest) *Query {
	q := Select("kind, id, name, org_id, owner_id, expires_at, last_used_at", "expirations", "expires_at, id").
		Of(sql).Where("expires_at > ?", now).Where("expires_at <= ?", r.Until.AsTime()).Where("kind = any (?)", r.Kinds)
	if r.OrgId != "" {
		q.Where("org_id = ?", r.OrgId)
	}
	if r.Usable {
		q.Where("active")
	}
	return q
}

// Expirations reads a list that Expiring began, the soonest first.
func Expirations(
	ctx context.Context, db *pgxpool.Pool, q *Query, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	page := Page{Limit: r.Limit, Asc: true}
	if r.Usable {
		list, err := Read[expiring](ctx, db, q, page)
		rows := Each(list.Rows, expiring.message)
		return &heraldv1.ReadExpirationsResponse{Result: rows, Total: int64(list.Total)}, err
	}
	rows, err := Rows[expiring](ctx, db, q, page)
	return &heraldv1.ReadExpirationsResponse{Result: Each(rows, expiring.message)}, err
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
