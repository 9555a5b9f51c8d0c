package secret_test

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/fault"
	"herald/shared/secret"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, c := range []struct {
		named *timestamppb.Timestamp
		want  time.Time
		err   error
	}{
		{nil, secret.NoExpiry, nil},
		{timestamppb.New(now.Add(time.Microsecond)), now.Add(time.Microsecond), nil},
		{timestamppb.New(now.Add(1999 * time.Nanosecond)), now.Add(time.Microsecond), nil},
		{timestamppb.New(now.Add(999 * time.Nanosecond)), time.Time{}, fault.ErrExpirationDatePast},
		{timestamppb.New(now), time.Time{}, fault.ErrExpirationDatePast},
		{timestamppb.New(now.Add(-time.Hour)), time.Time{}, fault.ErrExpirationDatePast},
		{timestamppb.New(secret.NoExpiry.Add(999 * time.Millisecond)),
			secret.NoExpiry.Add(999 * time.Millisecond), nil},
		{&timestamppb.Timestamp{}, time.Time{}, fault.ErrExpirationDatePast},
		{&timestamppb.Timestamp{Seconds: 1 << 60}, time.Time{}, fault.ErrInvalidArgument},
		{&timestamppb.Timestamp{Seconds: now.Unix() + 1, Nanos: -1}, time.Time{}, fault.ErrInvalidArgument},
	} {
		if got, err := secret.Expiry(c.named, now); !got.Equal(c.want) || !errors.Is(err, c.err) {
			t.Errorf("%v: %v, %v", c.named, got, err)
		}
	}
}
