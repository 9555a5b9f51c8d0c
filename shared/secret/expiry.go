package secret

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/fault"
)

// ErrExpiryPast is returned for a credential that would have expired before it begins.
var ErrExpiryPast = fault.New(fault.Invalid, "EXPIRATION_PAST", "expirationDate: must be in the future").
	On("expirationDate", "must be in the future")

// NoExpiry stands for the expiry of what does not expire (specification 4.2).
var NoExpiry = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Expiry reads until when a credential is to work, to the microsecond, as it is stored:
// NoExpiry where no time is named.
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
