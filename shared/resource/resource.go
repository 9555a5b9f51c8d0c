// Package resource has what every object of Herald has: an identifier, and the times at which it was created and last
// changed, as they are stored and as they are returned in the details of answers.
package resource

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	heraldv1 "herald/shared/gen/herald/v1"
)

// Record is the position and time of an object's last change, and the time of its creation.
// Domain types embed it; their tables have the columns sequence, created_at and changed_at.
type Record struct {
	Sequence  int64
	CreatedAt time.Time
	ChangedAt time.Time
}

// Moved sets the position and time of the last change.
func (r *Record) Moved(position int64, at time.Time) { r.Sequence, r.ChangedAt = position, at }

// Details returns the details in the answer to a read or a creation.
func Details(r Record, organizationID string) *heraldv1.ObjectDetails {
	d := Changed(r, organizationID)
	d.CreationDate = timestamppb.New(r.CreatedAt)
	return d
}

// Changed returns the details in the answer to a change, which have no time of creation.
func Changed(r Record, organizationID string) *heraldv1.ObjectDetails {
	return &heraldv1.ObjectDetails{
		Sequence: uint64(r.Sequence), ChangeDate: timestamppb.New(r.ChangedAt), ResourceOwner: organizationID,
	}
}

// Key returns the details of a key, without the key itself.
func Key(id string, r Record, organizationID string, expires time.Time) *heraldv1.Key {
	return &heraldv1.Key{
		Id: id, Details: Details(r, organizationID), Type: heraldv1.KeyType_KEY_TYPE_JSON,
		ExpirationDate: timestamppb.New(expires),
	}
}
