package domain_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
)

func TestLoginIsDoneAfterAllSteps(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	l := domain.Login{UserID: "u", UserGeneration: 3, OrgID: "o", OrgGeneration: 2, Credential: "password",
		AuthTime: now, AMR: []string{domain.AMRPassword}, NeedsFactor: true, NeedsPassword: true}
	second := l.WithFactor(now.Add(time.Minute))
	third := second.WithPassword(4, now.Add(2*time.Minute))
	if l.Done() || second.Done() || !third.Done() {
		t.Error("done too early or never")
	}
	if len(l.AMR) != 1 || !slices.Equal(third.AMR, []string{"pwd", "otp", "mfa"}) {
		t.Errorf("amr %v and %v", l.AMR, third.AMR)
	}
	end := now.Add(2 * time.Minute)
	want := domain.Session{ID: "s1", UserID: "u", UserGeneration: 4, OrgID: "o", OrgGeneration: 2, AuthTime: end,
		AMR: third.AMR, Credential: "password", Client: "192.0.2.1", Agent: "a browser", CreatedAt: end, UsedAt: end,
		ExpiresAt: end.Add(10 * 24 * time.Hour)}
	if got := third.Session("s1", "192.0.2.1", "a browser", end); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A long header User-Agent is cut, but never within a character.
func TestAgentIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 199)
	for header, want := range map[string]string{
		"": "", "Mozilla/5.0": "Mozilla/5.0", long + "bc": long + "b", long + "é": long, "a\xffb": "ab",
	} {
		t.Run(header, func(t *testing.T) {
			if got := domain.Agent(header); got != want {
				t.Errorf("%q becomes %q", header, got)
			}
		})
	}
}

// A browser that loads page after page writes its use once a minute.
func TestUseIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	s := domain.Session{UsedAt: now}
	for later, want := range map[time.Duration]bool{
		0: false, time.Minute - 1: false, time.Minute: true, time.Hour: true,
	} {
		if s.UsedLongAgo(now.Add(later)) != want {
			t.Errorf("after %v: %v", later, !want)
		}
	}
}

// Each thing on which a session depends ends it when it changes.
func TestChangeEndsSession(t *testing.T) {
	t.Parallel()
	s := domain.Session{UserID: "u", UserGeneration: 3, OrgID: "o", OrgGeneration: 2, Credential: "password"}
	subject := func() domain.Subject {
		return domain.Subject{ID: "u", OrgID: "o", Active: true, Human: true, Generation: 3, Credential: "password",
			Orgs: map[string]domain.Org{"o": {ID: "o", Active: true, Generation: 2}}}
	}
	if !s.Alive(subject()) {
		t.Error("dead although nothing has changed")
	}
	for name, change := range map[string]func(*domain.Subject){
		"another user":          func(u *domain.Subject) { u.ID = "v" },
		"not active":            func(u *domain.Subject) { u.Active = false },
		"a machine":             func(u *domain.Subject) { u.Human = false },
		"of another generation": func(u *domain.Subject) { u.Generation = 4 },
		"without the password":  func(u *domain.Subject) { u.Credential = "" },
		"of another org":        func(u *domain.Subject) { u.OrgID = "p" },
		"without org":           func(u *domain.Subject) { u.Orgs = nil },
		"of an inactive org":    func(u *domain.Subject) { u.Orgs["o"] = domain.Org{ID: "o", Generation: 2} },
		"of an org that was inactive": func(u *domain.Subject) {
			u.Orgs["o"] = domain.Org{ID: "o", Active: true, Generation: 3}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := subject()
			change(&u)
			if s.Alive(u) {
				t.Error("alive")
			}
		})
	}
}
