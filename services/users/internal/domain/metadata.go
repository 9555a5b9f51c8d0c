package domain

import (
	"bytes"

	"herald/shared/resource"
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
