// Package consumer removes the identity providers of removed organizations.
package consumer

import (
	"context"

	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	"herald/shared/event"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/orgremoval"
)

// Sweep removes the providers of an organization.
func Sweep(db store.Store) orgremoval.Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		idps, err := db.SomeIdps(ctx, removed.OrganizationID, orgremoval.Batch)
		if err != nil {
			return false, err
		}
		return orgremoval.Each(idps, func(i domain.Idp) error {
			_, err := db.RemoveIdp(ctx, i.OrgID, i.ID, &idpv1.IdpRemoved{Cause: removed.ID})
			return err
		})
	}
}
