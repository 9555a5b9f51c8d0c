package domain

import (
	"time"

	"herald/shared/resource"
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
