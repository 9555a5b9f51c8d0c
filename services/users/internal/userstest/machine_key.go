package userstest

import (
	"context"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// PublicKey is the public key of a caller's own pair.
var PublicKey = testkit.PublicKey()

// AddKey adds a public key, or a new key pair if it is nil.
func (w *World) AddKey(ctx context.Context, userID string, publicKey []byte) (*usersv1.AddMachineKeyResponse, error) {
	return w.Gateway.AddMachineKey(ctx, &usersv1.AddMachineKeyRequest{UserId: userID, PublicKey: publicKey})
}

// RemoveKey removes a key of a machine user.
func (w *World) RemoveKey(ctx context.Context, userID, keyID string) (*heraldv1.ObjectDetails, error) {
	r, err := w.Gateway.RemoveMachineKey(ctx, &usersv1.RemoveMachineKeyRequest{UserId: userID, KeyId: keyID})
	return r.GetDetails(), err
}
