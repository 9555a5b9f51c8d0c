// Package consumer removes the own texts and the branding of organizations that are removed.
package consumer

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	"herald/shared/event"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/orgremoval"
)

// Sweep removes the branding of an organization and the texts that it wrote.
func Sweep(db store.Store) orgremoval.Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		keys, err := db.SomeCustom(ctx, removed.OrganizationID, orgremoval.Batch)
		if err != nil {
			return false, err
		}
		found, err := orgremoval.Each(keys, func(k store.Key) error {
			_, err := db.ResetCustom(ctx, k, func(*domain.Custom) (proto.Message, error) {
				return &textv1.MessageTextRemoved{Kind: k.Kind, Language: k.Language, Cause: removed.ID}, nil
			})
			return err
		})
		if err != nil {
			return found, err
		}
		_, err = orgremoval.Each([]string{removed.OrganizationID}, func(orgID string) error {
			_, err := db.ResetBranding(ctx, orgID, func(*domain.Branding) (proto.Message, error) {
				return &textv1.BrandingRemoved{Cause: removed.ID}, nil
			})
			return err
		})
		return found, err
	}
}
