package resource

import "github.com/google/uuid"

// NewID returns a new identifier of 36 characters, a UUIDv7 (RFC 9562). Identifiers sort by the time at which they were
// made; clients must not rely on that.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
