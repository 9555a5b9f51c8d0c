// Package consumer removes the own texts and the branding of organizations that are removed.
package consumer

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	"herald/shared/event"
	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/orgremoval"
)

// Sweep removes the texts that an organization wrote, and then its branding.
func Sweep(db store.Store) orgremoval.Sweep {
	texts := orgremoval.All(db.SomeCustom, func(ctx context.Context, removed event.Delivery, k store.Key) error {
		_, err := db.ResetCustom(ctx, k, func(*domain.Custom) (proto.Message, error) {
			return &textv1.MessageTextRemoved{Kind: k.Kind, Language: k.Language, Cause: removed.ID}, nil
		})
		return err
	})
	return orgremoval.InOrder(texts, func(ctx context.Context, removed event.Delivery) (bool, error) {
		_, err := db.ResetBranding(ctx, removed.OrganizationID, func(*domain.Branding) (proto.Message, error) {
			return &textv1.BrandingRemoved{Cause: removed.ID}, nil
		})
		if errors.Is(err, textfault.ErrBrandingNotFound) {
			err = nil
		}
		return false, err
	})
}
