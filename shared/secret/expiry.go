package secret

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/fault"
)

// NoExpiry is the expiry date of a credential that does not expire.
var NoExpiry = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Expiry returns the expiry date of a new credential. It has a precision of microseconds, as in the database. If t is
// nil, the date is NoExpiry.
func Expiry(t *timestamppb.Timestamp, now time.Time) (time.Time, error) {
	if t == nil {
		return NoExpiry, nil
	}
	if err := t.CheckValid(); err != nil {
		return time.Time{}, fault.ErrInvalidArgument.Say("expirationDate: is not a time").On("expirationDate",
			"is not a time")
	}
	at := t.AsTime().Truncate(time.Microsecond)
	if !at.After(now) {
		return time.Time{}, fault.ErrExpirationDatePast
	}
	return at, nil
}
