package domain

import (
	"bytes"

	"herald/shared/resource"
)

// MaxMetadata is the maximum number of keys of a user. With values of at most 64 KiB they fit in
// one answer.
const MaxMetadata = 100

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
