// Package history says where an object stands in the history of its service.
package history

import "time"

// Record is the position and time of an object's last change and the time of its
// creation. Domain types embed it; their tables have the columns sequence,
// created_at and changed_at.
type Record struct {
	Sequence  int64
	CreatedAt time.Time
	ChangedAt time.Time
}

// Moved notes a change at a position.
func (r *Record) Moved(position int64, at time.Time) { r.Sequence, r.ChangedAt = position, at }
