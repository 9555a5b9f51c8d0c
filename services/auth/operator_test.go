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
	if _, err := s.DB.Exec(t.Context(), `insert into signing_keys select 'RS256-later', algorithm, private_key,
		signs_at + interval '1 day', sequence, created_at, changed_at
		from signing_keys where id = 'RS256-waits'`); err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "RS256-signs signs, RS256-waits announced, RS256-later announced" {
		t.Error(got)
	}
	if err := keys.Use(t.Context(), "RS256-waits"); err != nil {
		t.Error(err)
	}
	if err := keys.Remove(t.Context(), "RS256-waits"); err != nil {
		t.Error(err)
	}
	if got := states(); got != "RS256-signs published, RS256-later signs" {
		t.Error(got)
	}
	if err := keys.Remove(t.Context(), "RS256-later"); !errors.Is(err, authfault.ErrSigningKeyLast) {
		t.Errorf("the last one: %v", err)
	}
	if err := keys.Use(t.Context(), "missing"); !errors.Is(err, authfault.ErrSigningKeyNotFound) {
		t.Errorf("a missing one: %v", err)
	}
	var events string
	if err := s.DB.QueryRow(t.Context(), `select string_agg(name || ' ' || aggregate_id, ', ' order by position)
		from events where actor = 'operator'`).Scan(&events); err != nil ||
		events != "activated RS256-waits, removed RS256-waits, activated RS256-later" {
		t.Errorf("%s, %v", events, err)
	}
}
