package domain

import (
	"time"

	"herald/shared/fault"
	"herald/shared/resource"
)

// MaxAppKeys is how many keys an application may have at a time, expired ones included:
// enough for a rotation on many machines, and few enough to look through.
const MaxAppKeys = 20

// Faults of applications' keys.
var (
	ErrAppKeyNotFound = fault.New(fault.NotFound, "APP_KEY_NOT_FOUND", "Key not found")
	ErrAppKeyLimit    = fault.New(fault.Precondition, "APP_KEY_LIMIT",
		"The application has 20 keys, which is the maximum; remove one first")
)

// AppKey is a key with which an application authenticates, without the key itself.
type AppKey struct {
	resource.Record
	ID            string
	ApplicationID string
	ProjectID     string // the application's
	OrgID         string // the project's
	ExpiresAt     time.Time
}
