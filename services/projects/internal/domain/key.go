package domain

import (
	"time"

	"herald/shared/resource"
)

// MaxAppKeys is the maximum number of keys of an application, with the expired ones. It allows a rotation on many
// machines, and a person can still read the list.
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
