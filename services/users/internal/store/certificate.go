package store

import (
	"context"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/postgres"
)

// NoteCertificate notes a certificate that a gateway uses now.
func (s Store) NoteCertificate(ctx context.Context, c domain.Certificate, now time.Time) error {
	_, err := s.journal.DB.Exec(ctx, `insert into certificates (id, name, expires_at, created_at, noted_at)
		values (@id, @name, @expires_at, @now, @now)
		on conflict (id) do update set noted_at = greatest(certificates.noted_at, excluded.noted_at)`,
		postgres.Args{"id": c.ID, "name": c.Name, "expires_at": c.ExpiresAt, "now": now})
	return postgres.Fault(err)
}
