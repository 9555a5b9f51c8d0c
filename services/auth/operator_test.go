package auth_test

import (
	"errors"
	"strings"
	"testing"

	"herald/services/auth"
	"herald/services/auth/internal/testworld"
	authfault "herald/shared/gen/fault/authfault"
	"herald/shared/testkit"
)

// An operator sees and changes the keys, and the events name the operator.
func TestOperatorChangesKeys(t *testing.T) {
	t.Parallel()
	s := testworld.Kit.Open(t, testkit.Ground(t))
	t.Cleanup(s.Close)
	testworld.ShareKeys(t, s)
	keys := auth.NewSigningKeys(s.DB)
	states := func() string {
		t.Helper()
		all, err := keys.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, k := range all {
			if !strings.HasPrefix(k.ID, k.Algorithm) || k.SignsAt.IsZero() {
				t.Errorf("listed is %+v", k)
			}
			list = append(list, k.ID+" "+k.State)
		}
		return strings.Join(list, ", ")
	}
	if got := states(); got != "RS256-signs signs, RS256-waits announced, ES256-signs signs, ES256-waits announced" {
		t.Error(got)
	}
	if err := keys.Use(t.Context(), "RS256-waits"); err != nil {
		t.Error(err)
	}
	if err := keys.Remove(t.Context(), "ES256-signs"); err != nil {
		t.Error(err)
	}
	if got := states(); got != "RS256-signs published, RS256-waits signs, ES256-waits signs" {
		t.Error(got)
	}
	if err := keys.Remove(t.Context(), "ES256-waits"); !errors.Is(err, authfault.ErrSigningKeyLast) {
		t.Errorf("the last one: %v", err)
	}
	if err := keys.Use(t.Context(), "missing"); !errors.Is(err, authfault.ErrSigningKeyNotFound) {
		t.Errorf("a missing one: %v", err)
	}
	var events string
	if err := s.DB.QueryRow(t.Context(), `select string_agg(name || ' ' || aggregate_id, ', ' order by position)
		from events where actor = 'operator'`).Scan(&events); err != nil ||
		events != "activated RS256-waits, removed ES256-signs, activated ES256-waits" {
		t.Errorf("%s, %v", events, err)
	}
}
