package domain

import (
	"testing"
	"time"
)

// No token is valid longer than its authorization, also if its lifetimes have changed since.
func TestTokensEndWithTheirAuthorization(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	instance := Lifetimes{time.Hour, 30 * day, 90 * day}
	longer := instance.Of(Client{Lifetimes: Lifetimes{Access: day}})
	if want := (Lifetimes{day, 30 * day, 90 * day}); longer != want || instance.Of(Client{}) != instance {
		t.Errorf("%v, want %v", longer, want)
	}
	a := Authorization{ExpiresAt: instance.Begins(now, true)}
	for name, test := range map[string]struct {
		of              Lifetimes
		after           time.Duration
		access, refresh time.Duration
	}{
		"at first":                     {instance, 0, time.Hour, 30 * day},
		"near the end":                 {instance, 89 * day, time.Hour, day},
		"in the last minute":           {instance, 90*day - time.Minute, time.Minute, time.Minute},
		"longer access tokens since":   {longer, 89 * day, day, day},
		"longer ones since, at last":   {longer, 90*day - time.Hour, time.Hour, time.Hour},
		"a shorter idle time since":    {Lifetimes{time.Hour, day, 90 * day}, 0, time.Hour, day},
		"a shorter access token since": {Lifetimes{time.Minute, day, 90 * day}, 0, time.Minute, day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := now.Add(test.after)
			access, refresh := test.of.AccessUntil(at, a).Sub(at), test.of.RefreshUntil(at, a).Sub(at)
			if access != test.access || refresh != test.refresh {
				t.Errorf("%v and %v", access, refresh)
			}
		})
	}
	for lasts, refreshed := range map[time.Duration]bool{time.Hour: false, 90 * day: true} {
		if got := instance.Begins(now, refreshed).Sub(now); got != lasts {
			t.Errorf("refreshed %v: %v, want %v", refreshed, got, lasts)
		}
	}
	if got := (Lifetimes{day, time.Hour, time.Minute}).Begins(now, true).Sub(now); got != day {
		t.Error("the access token is valid longer than its login can be refreshed:", got)
	}
}
