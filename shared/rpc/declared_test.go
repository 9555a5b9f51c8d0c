package rpc_test

import (
	"context"
	"strings"
	"testing"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/testkit"
)

// The caller gets each fault, and the log says which one the contract lacks.
func TestFaultThatTheContractLacksIsLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  *fault.Fault
		logged bool
	}{
		"in the contract":     {usersfault.ErrUserNotFound, false},
		"of all methods":      {fault.ErrOverloaded, false},
		"not in the contract": {usersfault.ErrUserAlreadyLocked, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			get := func(context.Context, *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
				return nil, c.fault
			}
			w := newWorld(t, users{get: get})
			_, err := w.gateway.GetUser(testkit.As(t.Context(), w.g, member("ORG_OWNER")),
				&usersv1.GetUserRequest{UserId: "x"})
			wants(t, err, c.fault.ID)
			var line string
			for one := range strings.Lines(w.log.String()) {
				if strings.Contains(one, rpc.Undeclared) {
					line += one
				}
			}
			named := strings.Contains(line, "/herald.users.v1.Users/GetUser") && strings.Contains(line, c.fault.ID)
			if named != c.logged {
				t.Errorf("the log says %q", line)
			}
		})
	}
}
