package domain

import (
	"time"

	"herald/shared/resource"
)

// MachineKey is the details of a key with which a machine user authenticates. It does not have the
// key itself.
type MachineKey struct {
	resource.Record
	ID        string
	UserID    string
	OrgID     string // the user's
	ExpiresAt time.Time
}
