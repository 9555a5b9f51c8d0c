package testkit

import (
	"context"

	"herald/shared/caller"
)

// Unguarded is for test doubles of services with methods that act on users: it lets everybody act
// on everybody.
type Unguarded struct{}

// MayActOn implements rpc.Guard.
func (Unguarded) MayActOn(context.Context, *caller.Target) error { return nil }
