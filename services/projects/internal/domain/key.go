package domain

import (
	"time"

	"herald/shared/resource"
)

// MaxAppKeys is how many keys an application may have at a time, expired ones included:
// enough for a rotation on many machines, and few enough to look through.
const MaxAppKeys = 20

// AppKey is a key with which an application authenticates, without the key itself.
type AppKey struct {
	resource.Record
	ID            string
	ApplicationID string
	ProjectID     string // the application's
	OrgID         string // the project's
	ExpiresAt     time.Time
}
