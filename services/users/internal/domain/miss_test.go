package domain_test

import (
	"testing"
	"time"

	"herald/services/users/internal/domain"
)

// As many guesses are answered as at a code, of each kind and user for itself, until a mail is asked for.
func TestMisses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	m := domain.NewMisses(func() time.Time { return now })
	guess := func(what string, kind domain.Kind, times int) {
		t.Helper()
		for range times {
			if err := m.Guess("u1", kind); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := m.Guess("u1", kind); err != error(domain.ErrCodeLocked) {
			t.Errorf("%s, one more: %v", what, err)
		}
	}
	guess("first", domain.KindInit, domain.CodeTries)
	guess("another kind", domain.KindVerifyEmail, domain.CodeTries)
	if err := m.Guess("u2", domain.KindInit); err != nil {
		t.Errorf("another user: %v", err)
	}
	m.Renew("u1", domain.KindInit)
	guess("renewed", domain.KindInit, domain.CodeTries)
	m.Renew("u1", domain.KindInit) // too soon
	if err := m.Guess("u1", domain.KindInit); err != error(domain.ErrCodeLocked) {
		t.Errorf("renewed twice within a minute: %v", err)
	}
	now = now.Add(domain.LongestLifetime())
	guess("later", domain.KindInit, domain.CodeTries)
}
