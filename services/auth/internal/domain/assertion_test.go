package domain

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The rules of RFC 7523 section 3 for a machine user's assertion, and of OpenID Connect Core section 9 for a client's.
func TestAssertionCheck(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	const issuer = "https://id.example.com"
	audiences := []string{issuer, issuer + "/oauth/v2/token"}
	for _, c := range []struct {
		name          string
		change        func(*Assertion)
		user, forOnly bool // whether a user's and a client's is accepted
	}{
		{"good", func(*Assertion) {}, true, true},
		{"token endpoint as audience", func(a *Assertion) { a.Audience = audiences[1:] }, true, true},
		{"another audience too", func(a *Assertion) { a.Audience = []string{"https://other", issuer} }, true, false},
		{"no audience", func(a *Assertion) { a.Audience = nil }, false, false},
		{"audience of another", func(a *Assertion) { a.Audience = []string{"https://other"} }, false, false},
		{"audience with a slash", func(a *Assertion) { a.Audience = []string{issuer + "/"} }, false, false},
		{"issuer of another", func(a *Assertion) { a.Issuer = "u2" }, false, false},
		{"subject of another", func(a *Assertion) { a.Subject = "u2" }, false, false},
		{"no subject", func(a *Assertion) { a.Subject = "" }, false, false},
		{"no expiry", func(a *Assertion) { a.ExpiresAt = time.Time{} }, false, false},
		{"just expired", func(a *Assertion) { a.ExpiresAt = at(-29 * time.Second) }, true, true},
		{"expired", func(a *Assertion) { a.ExpiresAt = at(-30 * time.Second) }, false, false},
		{"an hour ahead", func(a *Assertion) { a.ExpiresAt = at(time.Hour + 30*time.Second) }, true, true},
		{"more than an hour ahead", func(a *Assertion) { a.ExpiresAt = at(time.Hour + 31*time.Second) }, false, false},
		{"no time of issue", func(a *Assertion) { a.IssuedAt = time.Time{} }, false, true},
		{"issued soon", func(a *Assertion) { a.IssuedAt = at(30 * time.Second) }, true, true},
		{"issued in the future", func(a *Assertion) { a.IssuedAt = at(31 * time.Second) }, false, false},
		{"issued an hour ago", func(a *Assertion) { a.IssuedAt = at(-time.Hour - 30*time.Second) }, true, true},
		{"issued long ago", func(a *Assertion) { a.IssuedAt = at(-time.Hour - 31*time.Second) }, false, false},
		{"not valid yet", func(a *Assertion) { a.NotBefore = at(31 * time.Second) }, false, false},
		{"valid since now", func(a *Assertion) { a.NotBefore = at(30 * time.Second) }, true, true},
		{"long id", func(a *Assertion) { a.ID = strings.Repeat("x", 201) }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := Assertion{Issuer: "u1", Subject: "u1", ID: "j1", Audience: []string{issuer}, IssuedAt: now,
				ExpiresAt: at(time.Minute)}
			c.change(&a)
			for only, accepted := range map[bool]bool{false: c.user, true: c.forOnly} {
				err := a.Check("u1", audiences, only, now)
				if (err == nil) != accepted || err != nil && !errors.Is(err, ErrInvalidGrant) {
					t.Errorf("only %v: %v", only, err)
				}
			}
		})
	}
}
