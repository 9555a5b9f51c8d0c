// Package resource says where an object stands in the history of its service, and how
// answers tell it (specification 2.1).
package resource

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	heraldv1 "herald/shared/gen/herald/v1"
)

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

// Details returns an object's place in history as it is answered to reads and creations.
func Details(r Record, organizationID string) *heraldv1.ObjectDetails {
	d := Changed(r, organizationID)
	d.CreationDate = timestamppb.New(r.CreatedAt)
	return d
}

// Changed returns the same as changes answer it: without the time of the creation.
func Changed(r Record, organizationID string) *heraldv1.ObjectDetails {
	return &heraldv1.ObjectDetails{
		Sequence: uint64(r.Sequence), ChangeDate: timestamppb.New(r.ChangedAt), ResourceOwner: organizationID,
	}
}
