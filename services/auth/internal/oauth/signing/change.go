package signing

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// Remove removes a key. Each replica refuses the tokens that it signed after its next Refresh. If the key signs, the
// waiting key signs from then on. Remove returns ErrSigningKeyNotFound for an unknown key, and ErrSigningKeyLast if
// there is no waiting key.
func Remove(ctx context.Context, s store.Store, keyID string) error {
	return s.RemoveSigningKey(ctx, keyID, func(r domain.Removal) proto.Message {
		return &authv1.SigningKeyRemoved{Algorithm: string(r.Algorithm)}
	})
}

// Activate makes a waiting key sign. Each replica uses it after its next Refresh. The tokens of the key before it
// stay valid. Activate returns ErrSigningKeyNotFound, or ErrSigningKeyNotWaiting for a key that has signed already.
func Activate(ctx context.Context, s store.Store, keyID string) error {
	return s.ActivateSigningKey(ctx, keyID, func(k domain.SigningKey) proto.Message {
		return &authv1.SigningKeyActivated{Algorithm: string(k.Algorithm)}
	})
}
