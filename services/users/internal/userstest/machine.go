package userstest

import (
	"context"

	usersv1 "herald/shared/gen/herald/users/v1"
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
