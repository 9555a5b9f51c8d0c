// Package id makes the identifiers of objects and events: UUIDv7 (RFC 9562), which
// sort by the time of their making and are opaque to everybody else.
package id

import "github.com/google/uuid"

// New returns a fresh identifier of 36 characters. It panics if the
// operating system gives no randomness, as crypto/rand does.
func New() string { return uuid.Must(uuid.NewV7()).String() }
