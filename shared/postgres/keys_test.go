package postgres_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/postgres"
	"herald/shared/secret"
)

// While the master key changes, a role has the password of either key. Processes with both get in,
// also with connections that they open after the change.
func TestOpenAsWithEitherPassword(t *testing.T) {
	t.Parallel()
	server, old, fresh := start(t), keys(t, "1"), keys(t, "2")
	admin := secret.NewText(server.URL())
	before, after := both(t, old, fresh), both(t, fresh, old)
	if _, err := postgres.Provision(t.Context(), admin, old, "users"); err != nil {
		t.Fatal(err)
	}
	var pools []*pgxpool.Pool
	for _, k := range []secret.Keys{before, after} {
		own, err := postgres.WithDatabase(admin, "herald_users", "herald_users", postgres.Password(k, "users"))
		if err != nil {
			t.Fatal(err)
		}
		db, err := postgres.OpenAs(t.Context(), own, k, "users", postgres.Observers{Traces: noop.NewTracerProvider()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		pools = append(pools, db)
	}
	for _, k := range []secret.Keys{before, after, before} {
		if _, err := postgres.Provision(t.Context(), admin, k, "users"); err != nil {
			t.Fatal(err)
		}
		for i, db := range pools {
			db.Reset()
			if err := db.Ping(t.Context()); err != nil {
				t.Errorf("pool %d: %v", i, err)
			}
		}
	}
	held, err := postgres.Holders(t.Context(), pools[0])
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(held, slices.Compare[[]string])
	want := [][]string{texts(before), texts(after)}
	slices.SortFunc(want, slices.Compare[[]string])
	if fmt.Sprint(held) != fmt.Sprint(want) {
		t.Errorf("the keys of running processes are %v, want %v", held, want)
	}
	if _, err := postgres.Provision(t.Context(), admin, keys(t, "3"), "users"); err != nil {
		t.Fatal(err)
	}
	pools[0].Reset()
	if err := pools[0].Ping(t.Context()); code(err) != "28P01" {
		t.Errorf("a password of neither key: %v", err)
	}
}

func both(t *testing.T, first, second secret.Keys) secret.Keys {
	t.Helper()
	k, err := secret.ParseKeys(first.Text().Reveal() + second.Text().Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func texts(k secret.Keys) (ids []string) {
	for _, id := range k.IDs() {
		ids = append(ids, id.String())
	}
	return ids
}
