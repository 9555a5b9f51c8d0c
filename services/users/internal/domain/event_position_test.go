package domain

import (
	"testing"
	"time"

	"herald/shared/testkit"
)

func TestEventPositionIsReadAsWritten(t *testing.T) {
	t.Parallel()
	p := EventPosition{time.UnixMicro(1764220000123456).UTC(), "users", 42}
	const text = "1764220000123456.users.42"
	if got := p.String(); got != text {
		t.Errorf("%s", got)
	}
	if got, err := ParseEventPosition(text); err != nil || got != p {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"42", "x.users.1", "1.users", "1.users.x", "01.users.1", "1.users.+1", "1.users.1 ",
		"-1.users.1", "253402300800000000.users.1", "99999999999999999999.users.1", "1.users.1.2"} {
		_, err := ParseEventPosition(wrong)
		testkit.Refused(t, err, "EVENT_POSITION_INVALID")
	}
}

// The position of a place in a service's events divides them like the place itself, in both directions.
func TestEventPositionInAService(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1764220000123456).UTC()
	p := EventPosition{at, "projects", 42}
	for _, service := range []string{"auth", "projects", "users"} {
		for _, position := range []int64{1, 41, 42, 43, 1 << 40} {
			e := EventPosition{at, service, position}
			if got, want := position > p.In(service, true), e.Compare(p) > 0; got != want {
				t.Errorf("%s is after %s: %t", e, p, got)
			}
			if got, want := position < p.In(service, false), e.Compare(p) < 0; got != want {
				t.Errorf("%s is before %s: %t", e, p, got)
			}
		}
	}
}

func FuzzEventPosition(f *testing.F) {
	f.Add("1764220000123456.users.42")
	f.Add("1..1")
	f.Add("-9223372036854775808.x.-1")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseEventPosition(text)
		if err != nil {
			testkit.Refused(t, err, "EVENT_POSITION_INVALID")
		} else if p.String() != text {
			t.Errorf("%q is read as %q", text, p)
		}
	})
}
