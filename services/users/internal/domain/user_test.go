package domain_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
)

// A chosen id can be used in a path, and is not one of the words in paths or the name of the API or of a service.
func TestCheckUserID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "A-1", "mini@example.com", "a_b", "a.b", "...", "Me", "humans", "!$&'()*+,;=:~",
		strings.Repeat("a", 200)} {
		if err := domain.CheckUserID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{".", "..", "me", "human", "machine", "grants", "service",
		"auth", "gateway", "idp", "notification", "projects", "text", "users", "_x", "_", "a b", " a", "a/b",
		`a\b`, "a?b", "a#b", "a%b", "ä", "a\x7f", "a\n", "\x00", strings.Repeat("a", 201)} {
		if err := domain.CheckUserID(id); !errors.Is(err, usersfault.ErrUserIDInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// The e-mail, password and link of a new user decide on the state and the mail.
func TestSettle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verified bool
		hash     domain.Hidden
		linked   bool
		mail     domain.Kind
		state    domain.UserState
	}{
		"nothing":               {false, "", false, domain.KindInit, domain.UserInitial},
		"password only":         {false, "h", false, domain.KindInit, domain.UserInitial},
		"verified only":         {true, "", false, domain.KindInit, domain.UserInitial},
		"verified and password": {true, "h", false, "", domain.UserActive},
		"verified and link":     {true, "", true, "", domain.UserActive},
		"all three":             {true, "h", true, "", domain.UserActive},
		"link only":             {false, "", true, domain.KindVerifyEmail, domain.UserActive},
		"password and link":     {false, "h", true, domain.KindVerifyEmail, domain.UserActive},
	} {
		t.Run(name, func(t *testing.T) {
			u := domain.User{
				Type: domain.Human, FirstName: "Mini", LastName: "Mouse", EmailVerified: c.verified,
				PasswordHash: c.hash,
			}
			mail := u.Settle(c.linked)
			if mail != c.mail || u.State != c.state || u.DisplayName != "Mini Mouse" {
				t.Errorf("mail %q, became %+v", mail, u)
			}
			if mail != "" && u.Awaits(mail) != nil {
				t.Errorf("the mail %q is not for %+v: %v", mail, u, u.Awaits(mail))
			}
		})
	}
	named := domain.User{FirstName: "Mini", LastName: "Mouse", DisplayName: "Mimi"}
	if named.Settle(false); named.DisplayName != "Mimi" {
		t.Errorf("a chosen display name became %q", named.DisplayName)
	}
}

// A code needs a password if its page always asks for one, and takes one if the page can ask.
func TestKindsOfPasswords(t *testing.T) {
	t.Parallel()
	for kind, c := range map[domain.Kind]struct{ takes, needs bool }{
		domain.KindInit: {true, false}, domain.KindVerifyEmail: {false, false}, domain.KindPasswordReset: {true, true},
	} {
		if kind.TakesPassword() != c.takes || kind.NeedsPassword() != c.needs {
			t.Errorf("%s: takes %t, needs %t", kind, kind.TakesPassword(), kind.NeedsPassword())
		}
	}
}

func TestHashIsNotMarshalled(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(domain.User{PasswordHash: "canary"})
	if err != nil || strings.Contains(string(text), "canary") {
		t.Errorf("%s, %v", text, err)
	}
}

// FuzzUserID: an accepted id is one part of a path, as it is.
func FuzzUserID(f *testing.F) {
	for _, id := range []string{"a", "mini@example.com", "..", "_x", "me", "a/b", "%2e", "!$&'()*+,;=:~", "ä", "\x00"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if domain.CheckUserID(id) != nil || id == "" {
			return
		}
		u, err := url.Parse("http://herald.example/management/v1/users/" + id + "/pats")
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(u.Path, "/")
		if len(parts) != 6 || parts[4] != id || u.RawQuery != "" || u.Fragment != "" || u.JoinPath().Path != u.Path {
			t.Errorf("%q leads to %s", id, u)
		}
	})
}
