package domain_test

import (
	"testing"
	"time"

	"herald/services/auth/internal/domain"
)

// A person who was just asked at the provider has authenticated now, although the provider's clock is a little behind.
func TestLoginAtProviderIsFresh(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 22, 12, 0, 0, 500, time.UTC)
	now := begun.Add(20 * time.Second)
	l := domain.ExternalLogin{BegunAt: begun}
	for said, want := range map[int64]time.Time{
		0: begun.Add(-10 * time.Minute), begun.Unix(): now, begun.Unix() - 59: now, now.Unix() + 1000: now,
		begun.Unix() - 60: begun.Add(-60 * time.Second).Truncate(time.Second),
		1700000000:        time.Unix(1700000000, 0), -5: time.Unix(-5, 0),
	} {
		if got := l.AuthTime(said, now); !got.Equal(want) {
			t.Errorf("%d: %v, want %v", said, got, want)
		}
	}
}

// A provider that does not say when it authenticated a person is believed if it was asked to do so for this link.
func TestLinksNeedAPersonWhoWasJustAsked(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 22, 12, 0, 0, 500, time.UTC)
	for _, c := range []struct {
		name  string
		again bool
		said  int64
		after time.Duration
		want  bool
	}{
		{"says it was now", false, begun.Unix(), time.Minute, true},
		{"says it was long ago", true, begun.Unix() - 3600, time.Minute, false},
		{"says nothing", true, 0, 9 * time.Minute, true},
		{"says nothing, too late", true, 0, domain.FreshLogin, false},
		{"says nothing and was not asked", false, 0, time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := domain.ExternalLogin{BegunAt: begun, Again: c.again}
			if got := l.MayLink(c.said, begun.Add(c.after)); got != c.want {
				t.Errorf("it may link: %t", got)
			}
		})
	}
}

func TestCredentialNamesProvider(t *testing.T) {
	t.Parallel()
	for credential, want := range map[string]string{"password": "", "": "", "idp:company:1:2": "company", "idp:": "",
		"key:idp:1": ""} {
		t.Run(credential, func(t *testing.T) {
			if got := (domain.Session{Credential: credential}).Provider(); got != want {
				t.Errorf("%q is of %q", credential, got)
			}
		})
	}
}
