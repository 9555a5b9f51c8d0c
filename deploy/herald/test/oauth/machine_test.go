package oauth_test

import (
	"testing"
)

// Machine users log in by a secret or a key file, and are callers of the API afterwards.
func TestMachines(t *testing.T) {
	t.Parallel()
	w := start(t)
	id := w.machine("ci")
	secret, file := w.secretOf(id), w.keyOf(id)
	for name, get := range map[string]func(w world) answer{
		"secret in the header": func(w world) answer {
			return w.token(secret, "grant_type", "client_credentials", "scope", apiScope)
		},
		"key file": func(w world) answer {
			return w.token("", "grant_type", bearer, "scope", apiScope, "assertion", w.sign(file, w.claims(id, nil)))
		},
	} {
		got := get(w)
		if got.text("scope") != apiScope || got.Body["expires_in"] != 3600.0 || len(got.Body) != 4 {
			t.Errorf("%s: %v", name, got.Body)
		}
	}
}
