package command

import (
	"testing"

	"herald/shared/secret"
)

func TestReplayNamesDatabasesWithoutEvents(t *testing.T) {
	t.Parallel()
	keys, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	r := &ring{keys: keys}
	r.Database = secret.NewText(startPostgres(t).TCP())
	if err := makeDatabases(t.Context(), r.Database, keys, []string{"users"}); err != nil {
		t.Fatal(err)
	}
	pool, err := r.events(t.Context(), "users")
	if err == nil {
		pool.Close()
		t.Fatal("it found events")
	}
	const want = "no events of the service users are at HERALD_DATABASE_URL: the database postgres has no table " +
		"outbox\nthe database herald_users has no table outbox"
	if err.Error() != want {
		t.Errorf("%q, not %q", err, want)
	}
}
