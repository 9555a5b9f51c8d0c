package testworld

import (
	"context"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// Machine creates a machine user of an organization and returns the id.
func (w *World) Machine(ctx context.Context, name string) string {
	w.Helper()
	r, err := w.Gateway.CreateMachineUser(ctx, &usersv1.CreateMachineUserRequest{UserName: name, Name: name})
	if err != nil {
		w.Fatal(err)
	}
	return r.UserId
}

// SetSecret gives a machine user a secret.
func (w *World) SetSecret(ctx context.Context, userID string) (*usersv1.SetMachineSecretResponse, error) {
	return w.Gateway.SetMachineSecret(ctx, &usersv1.SetMachineSecretRequest{UserId: userID})
}

// RemoveSecret removes a machine user's secret.
func (w *World) RemoveSecret(ctx context.Context, userID string) (*heraldv1.ObjectDetails, error) {
	r, err := w.Gateway.RemoveMachineSecret(ctx, &usersv1.RemoveMachineSecretRequest{UserId: userID})
	return r.GetDetails(), err
}

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
