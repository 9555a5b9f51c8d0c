package boot

import (
	"context"

	"herald/shared/postgres"
	"herald/shared/quota"
)

// QuotaSettings are the operator's changes of the table of quotas.
type QuotaSettings = quota.Settings

// SetQuotas writes the table of quotas into the service's database.
func (s *Service) SetQuotas(ctx context.Context, q QuotaSettings) error {
	return postgres.SetQuotas(ctx, s.DB, q)
}
