package domain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/gen/fault/authfault"
)

const (
	day    = 24 * time.Hour
	period = 90 * day
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// signing returns keys that begin to sign so long from now.
func signing(from ...time.Duration) domain.SigningKeys {
	var keys domain.SigningKeys
	for i, d := range from {
		keys = append(keys, domain.SigningKey{ID: string(rune('a' + i)), SignsAt: now.Add(d)})
	}
	return keys
}

func TestNextKeyIsAnnouncedBeforeItSigns(t *testing.T) {
	t.Parallel()
	const announced = domain.Announcement
	for name, test := range map[string]struct {
		keys domain.SigningKeys
		want time.Duration
		due  bool
	}{
		"the first signs at once":                    {nil, 0, true},
		"as soon as a key signs":                     {signing(0), period, true},
		"after most of the period":                   {signing(-80 * day), 10 * day, true},
		"with more than the announcement":            {signing(announced - period + 1), announced + 1, true},
		"never without the announcement":             {signing(announced - period - 1), announced, true},
		"after a long stop":                          {signing(-400 * day), announced, true},
		"one waits":                                  {signing(-day, 1), 0, false},
		"one waits alone, as the clock was set back": {signing(day), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			signsAt, due := test.keys.Next(now, period), !test.keys.Waiting(now)
			if due != test.due || due && !signsAt.Equal(now.Add(test.want)) {
				t.Errorf("%v, %v", signsAt.Sub(now), due)
			}
		})
	}
	if !signing(-day, 1).Last().Equal(now.Add(1)) || !signing().Last().IsZero() {
		t.Error("wrong last keys")
	}
}

func TestKeyRetiresAfterOverlap(t *testing.T) {
	t.Parallel()
	const over = -domain.Overlap
	for name, test := range map[string]struct {
		keys domain.SigningKeys
		want string
	}{
		"no key":                         {nil, ""},
		"the only one, however old":      {signing(-1000 * day), ""},
		"until the overlap is over":      {signing(over-period, over+1), ""},
		"once the overlap is over":       {signing(over-period, over), "a"},
		"the next one has to sign first": {signing(-1000*day, 1), ""},
		"several after a long stop":      {signing(-900*day, -800*day, -700*day, 1), "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			for _, k := range test.keys.Retired(now) {
				got += k.ID
			}
			if got != test.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestLastKeyCannotBeRemoved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		removal domain.Removal
		heir    string
		want    error
	}{
		"the one that signs":               {domain.Removal{Waiting: "w"}, "w", nil},
		"the one that signs, without next": {domain.Removal{}, "", authfault.ErrSigningKeyLast},
		"one that signed":                  {domain.Removal{Replaced: true, Waiting: "w"}, "", nil},
		"one that signed, without next":    {domain.Removal{Replaced: true}, "", nil},
		"one that waits": {domain.Removal{SigningKey: domain.SigningKey{SignsAt: now.Add(1)}, Waiting: "w"}, "",
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := test.removal.Check(now); !errors.Is(err, test.want) || test.removal.Heir(now) != test.heir {
				t.Errorf("%v, heir %q", err, test.removal.Heir(now))
			}
		})
	}
}

func TestPeriodIsOneDayToOneYear(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]time.Duration{
		1: day, 90: period, 365: 365 * day, 0: 0, -1: 0, 366: 0, 1 << 62: 0,
	} {
		got, err := domain.CheckPeriod(days)
		named := err != nil && strings.Contains(err.Error(), "HERALD_SIGNING_KEY_DAYS")
		if got != want || named != (want == 0) {
			t.Errorf("%d days: %v, %v", days, got, err)
		}
	}
	both := domain.SigningKeys{{ID: "r", Algorithm: domain.RS256}, {ID: "e", Algorithm: "ES256"}}
	if of := both.Of("ES256"); len(of) != 1 || of[0].ID != "e" {
		t.Errorf("of ES256: %v", of)
	}
}

func TestOnlyWaitingKeyIsActivated(t *testing.T) {
	t.Parallel()
	for from, want := range map[time.Duration]error{
		1: nil, period: nil, 0: authfault.ErrSigningKeyNotWaiting, -1: authfault.ErrSigningKeyNotWaiting,
	} {
		k := signing(from)[0]
		if err := k.Activate(now); !errors.Is(err, want) || err == nil && !k.SignsAt.Equal(now) {
			t.Errorf("from %v on: %v, %v", from, err, k.SignsAt)
		}
	}
}
