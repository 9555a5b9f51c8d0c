// Package consumer removes the identity providers of removed organizations, and reports refused logins.
package consumer

import (
	"context"
	"time"

	"herald/services/idp/internal/api"
	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	"herald/shared/boot"
	"herald/shared/event"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/orgremoval"
	"herald/shared/retry"
)

// Sweep removes the providers of an organization.
func Sweep(db store.Store) orgremoval.Sweep {
	return orgremoval.All(db.SomeIdps, func(ctx context.Context, removed event.Delivery, i domain.Idp) error {
		_, err := db.RemoveIdp(ctx, i.OrgID, i.ID, &idpv1.IdpRemoved{Cause: removed.ID})
		return err
	})
}

// look is how often ReportRefusedLogins looks. A refused login is reported at the latest this long after its minute.
const look = 20 * time.Second

// ReportRefusedLogins writes the events for refused logins that no further one has brought along, until ctx ends.
func ReportRefusedLogins(ctx context.Context, s *boot.Service, db store.Store) {
	for retry.Wait(ctx, look) {
		if err := db.ReportRefusedLogins(ctx, s.Now(), api.LoginRefused); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "refused logins are not in the history of their provider", "err", err)
		}
	}
}
