package internals_test

import (
	"testing"
	"time"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Whoever has forgotten the password gets a mail by the login name, and by an address that nobody else has.
func TestRequestCodeByName(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	active, initial := w.Person(w.Admin, "Mini"), w.Initial("Waiting")
	machine, shared, namesake := w.Person(w.Admin, "robot"), w.Person(w.Admin, "one"), w.Person(w.Admin, "two")
	w.Unverified("unverified")
	w.SetColumns(machine, "type = 2")
	w.SetColumns(active, "email = 'mini@example.org', email_folded = 'mini@example.org'")
	w.SetColumns(initial, "email = 'waiting@example.org', email_folded = 'waiting@example.org'")
	for _, id := range []string{shared, namesake} {
		w.SetColumns(id, "email = 'both@example.org', email_folded = 'both@example.org'")
	}
	for name, want := range map[string]struct{ id, event string }{
		" mINI ": {active, "password_reset_requested"}, "MINI@example.ORG": {active, "password_reset_requested"},
		"waiting": {initial, "initialization_requested"}, "waiting@example.org": {initial, "initialization_requested"},
		"unverified": {}, "robot": {}, "both@example.org": {}, "one": {shared, "password_reset_requested"},
		"nobody": {}, active: {},
	} {
		w.Advance(2 * time.Minute)
		ask := func() {
			if _, err := w.Auth.RequestCode(w.Context(), &usersv1.RequestCodeRequest{
				Kind: "passwordreset", LoginName: name,
			}); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
		if want.id == "" {
			w.Unwritten(ask)
			continue
		}
		before := w.Rows("events where aggregate_id = $1 and name = $2", want.id, want.event)
		ask()
		ask() // within a minute: no second one
		if n := w.Rows("events where aggregate_id = $1 and name = $2", want.id, want.event) - before; n != 1 {
			t.Errorf("%q: %d mails", name, n)
		}
	}
}
