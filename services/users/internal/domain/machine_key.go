package domain

import (
	"time"

	"herald/shared/fault"
	"herald/shared/resource"
)

// ErrMachineKeyNotFound is returned for a key that a user does not have.
var ErrMachineKeyNotFound = fault.New(fault.NotFound, "MACHINE_KEY_NOT_FOUND", "Key not found")

// MachineKey is the details of a key with which a machine user authenticates. It does not have the
// key itself.
type MachineKey struct {
	resource.Record
	ID        string
	UserID    string
	OrgID     string // the user's
	ExpiresAt time.Time
}
