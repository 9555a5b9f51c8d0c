// Package intake removes the identity providers of removed organizations.
package intake

import (
	"context"

	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	"herald/shared/event"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/removal"
)

// Sweep removes the providers of an organization.
func Sweep(db store.Store) removal.Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		idps, err := db.SomeIdps(ctx, removed.OrganizationID, removal.Batch)
		if err != nil {
			return false, err
		}
		return removal.Each(idps, func(i domain.Idp) error {
			_, err := db.RemoveIdp(ctx, i.OrgID, i.ID, &idpv1.IdpRemoved{Cause: removed.ID})
			return err
		})
	}
}
