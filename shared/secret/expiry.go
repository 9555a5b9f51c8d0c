package secret

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/fault"
)

// ErrExpiryPast is returned for an expiration date that is not in the future.
var ErrExpiryPast = fault.New(fault.Invalid, "EXPIRATION_DATE_PAST", "expirationDate: must be in the future").
	On("expirationDate", "must be in the future")

// NoExpiry is the expiry of a credential that does not expire (specification 4.2).
var NoExpiry = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Expiry returns the expiry of a new credential, to the microsecond, as it is stored: NoExpiry
// if t is nil.
func Expiry(t *timestamppb.Timestamp, now time.Time) (time.Time, error) {
	if t == nil {
		return NoExpiry, nil
	}
	if err := t.CheckValid(); err != nil {
		return time.Time{}, fault.ErrInvalid.Say("expirationDate: is not a time").On("expirationDate", "is not a time")
	}
	at := t.AsTime().Truncate(time.Microsecond)
	if !at.After(now) {
		return time.Time{}, ErrExpiryPast
	}
	return at, nil
}
