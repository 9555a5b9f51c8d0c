// Package id makes the identifiers of objects and events: UUIDv7 (RFC 9562), which sort by the
// time at which they were made. Clients must not rely on that.
package id

import "github.com/google/uuid"

// New returns a new identifier of 36 characters. It panics if the operating system gives no
// random bytes, as crypto/rand does.
func New() string { return uuid.Must(uuid.NewV7()).String() }
