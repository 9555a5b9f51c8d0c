package rpc_test

import (
	"testing"

	"google.golang.org/grpc"

	usersv1 "herald/shared/gen/herald/users/v1"
)

func TestRegisterRefusesUnknownServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{})
	if err := w.server.Register(&grpc.ServiceDesc{ServiceName: "herald.users.v1.Nothing"}, nil); err == nil {
		t.Error("registered")
	}
	if err := w.server.Register(&usersv1.Users_ServiceDesc, users{}); err != nil {
		t.Error(err)
	}
}
