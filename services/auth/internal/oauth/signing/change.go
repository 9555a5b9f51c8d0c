package signing

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// Remove removes a key, so that nothing that it signed is accepted any more: by each replica after its next Refresh. If
// the key signs, the announced one does so from then on. Remove returns ErrSigningKeyNotFound, or ErrSigningKeyLast
// before the next key has been made.
func Remove(ctx context.Context, s store.Store, keyID string) error {
	return s.RemoveSigningKey(ctx, keyID, func(r domain.Removal) proto.Message {
		return &authv1.SigningKeyRemoved{Algorithm: string(r.Algorithm)}
	})
}

// Activate makes an announced key sign, by each replica after its next Refresh. What the one before it signed stays
// valid. Activate returns ErrSigningKeyNotFound, or ErrSigningKeyNotWaiting for a key that has signed.
func Activate(ctx context.Context, s store.Store, keyID string) error {
	return s.ActivateSigningKey(ctx, keyID, func(k domain.SigningKey) proto.Message {
		return &authv1.SigningKeyActivated{Algorithm: string(k.Algorithm)}
	})
}
