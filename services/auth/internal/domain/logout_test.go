package domain_test

import (
	"testing"
	"time"

	"herald/services/auth/internal/domain"
)

// Herald tries five times to notify an application, within about a quarter of an hour.
func TestLogoutIsTriedFiveTimes(t *testing.T) {
	t.Parallel()
	for tries, want := range map[int]time.Duration{
		0: 5 * time.Second, 1: 5 * time.Second, 2: 30 * time.Second, 3: 2 * time.Minute, 4: 10 * time.Minute,
		5: 0, 6: 0,
	} {
		if got, again := (domain.Logout{Tries: tries}).Pause(); got != want || again != (want > 0) {
			t.Errorf("after %d tries: %s, %t", tries, got, again)
		}
	}
}
