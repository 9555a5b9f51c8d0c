package userstest

import (
	"context"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// SetSecret gives a machine user a secret.
func (w *World) SetSecret(ctx context.Context, userID string) (*usersv1.SetMachineSecretResponse, error) {
	return w.Gateway.SetMachineSecret(ctx, &usersv1.SetMachineSecretRequest{UserId: userID})
}

// RemoveSecret removes a machine user's secret.
func (w *World) RemoveSecret(ctx context.Context, userID string) (*heraldv1.ObjectDetails, error) {
	r, err := w.Gateway.RemoveMachineSecret(ctx, &usersv1.RemoveMachineSecretRequest{UserId: userID})
	return r.GetDetails(), err
}
