package domain

import (
	"bytes"

	"herald/shared/fault"
	"herald/shared/resource"
)

// MaxMetadata is the maximum number of keys of a user. With values of at most 64 KiB they fit in
// one answer.
const MaxMetadata = 100

// Faults of metadata.
var (
	ErrMetadataTwice    = fault.New(fault.Invalid, "METADATA_KEY_TWICE", "A key of metadata is given twice")
	ErrMetadataNotFound = fault.New(fault.NotFound, "METADATA_NOT_FOUND", "Metadata not found")
	ErrMetadataLimit    = fault.New(fault.Precondition, "METADATA_LIMIT", "A user has at most 100 keys of metadata")
)

// Metadata is a value that another system stores about a user.
type Metadata struct {
	resource.Record
	UserID string
	OrgID  string // the user's
	Key    string
	Value  []byte
}

// Set replaces the value. It returns false if it is the same.
func (m *Metadata) Set(value []byte) bool {
	if m.Sequence != 0 && bytes.Equal(m.Value, value) {
		return false
	}
	m.Value = append([]byte{}, value...) // nil would be null
	return true
}
