package testkit

import (
	"context"

	"herald/shared/caller"
)

// Unguarded is for test doubles of services with methods that act on users. It allows every caller to act on every
// user.
type Unguarded struct{}

// MayActOn implements rpc.Guard.
func (Unguarded) MayActOn(context.Context, *caller.Target) error { return nil }
