package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"herald/shared/postgres"
	"herald/shared/secret"
)

func files(sql ...string) fstest.MapFS {
	found := fstest.MapFS{}
	for i, s := range sql {
		found[fmt.Sprintf("migrations/%03d_step.sql", i+1)] = &fstest.MapFile{Data: []byte(s)}
	}
	return found
}

// Four replicas that start at once run each migration of both histories once.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	server := start(t)
	url := secret.NewText(server.URL())
	own := files(`create table runs (step int)`, `insert into runs values (2)`,
		`insert into runs select 3 from pg_sleep(0.1)`)
	events := files(`create table event_runs (step int)`, `insert into event_runs values (2)`)
	together(t, 4, func(int) error {
		pool := open(t, url)
		if err := postgres.Migrate(t.Context(), pool, "event_version", events); err != nil {
			return err
		}
		return postgres.Migrate(t.Context(), pool, "schema_version", own)
	})
	pool := open(t, url)
	var runs, eventRuns, version, eventVersion int
	read := func() {
		t.Helper()
		err := pool.QueryRow(t.Context(), `select (select count(*) from runs), (select count(*) from event_runs), `+
			`(select version from schema_version), (select version from event_version)`).
			Scan(&runs, &eventRuns, &version, &eventVersion)
		if err != nil {
			t.Fatal(err)
		}
	}
	if read(); runs != 2 || eventRuns != 1 || version != 3 || eventVersion != 2 {
		t.Errorf("runs %d and %d, versions %d and %d", runs, eventRuns, version, eventVersion)
	}
	// A new release adds one step; an older one refuses a schema that it does not know.
	own["migrations/004_step.sql"] = &fstest.MapFile{Data: []byte(`insert into runs values (4)`)}
	if err := postgres.Migrate(t.Context(), pool, "schema_version", own); err != nil {
		t.Fatal(err)
	}
	if read(); runs != 3 || version != 4 {
		t.Errorf("after the new release: runs %d, version %d", runs, version)
	}
	delete(own, "migrations/004_step.sql")
	if err := postgres.Migrate(t.Context(), pool, "schema_version", own); err == nil ||
		!strings.Contains(err.Error(), "of a newer Herald: its schema_version is 4, and this program knows 3;") {
		t.Error("an older release takes a newer schema:", err)
	}
}

// A failed migration changes nothing, its error names it, and it runs again after its repair.
func TestMigrateFails(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	err := postgres.Migrate(t.Context(), pool, "schema_version",
		files(`create table a (id int)`, `create table b (id int); select 1/0`))
	if err == nil || !strings.HasPrefix(err.Error(), "migrate schema_version: ") ||
		!strings.Contains(err.Error(), "002_step") {
		t.Errorf("%v", err)
	}
	if err := run(t.Context(), pool, `select from b`); code(err) != "42P01" {
		t.Errorf("half a migration is there: %v", err)
	}
	if err := postgres.Migrate(t.Context(), pool, "schema_version",
		files(`create table a (id int)`, `create table b (id int)`)); err != nil {
		t.Error(err)
	}
	err = postgres.Migrate(t.Context(), pool, "extended_version", files(`create extension there_is_none_like_this`))
	if err == nil || !strings.Contains(err.Error(), "contrib") {
		t.Errorf("an extension that the server lacks: %v", err)
	}
	if err := postgres.Migrate(t.Context(), pool, "other_version", fstest.MapFS{}); err == nil {
		t.Error("no migrations")
	}
	if err := postgres.Migrate(t.Context(), pool, "third_version",
		fstest.MapFS{"migrations/002_x.sql": {Data: []byte("select 1")}}); err == nil {
		t.Error("the first migration is missing")
	}
}

// A session has time limits and UTC as its time zone; a pool has a bound.
func TestOpen(t *testing.T) {
	t.Parallel()
	server := start(t)
	pool := open(t, secret.NewText(server.URL()+"&pool_max_conns=100"))
	if n := pool.Stat().MaxConns(); n != 8 {
		t.Errorf("%d connections", n)
	}
	for setting, want := range map[string]string{
		"statement_timeout": "30s", "idle_in_transaction_session_timeout": "5s", "timezone": "UTC",
	} {
		t.Run(setting, func(t *testing.T) {
			var got string
			if err := pool.QueryRow(t.Context(), `select current_setting($1)`, setting).Scan(&got); err != nil ||
				got != want {
				t.Errorf("%s is %s %v, want %s", setting, got, err, want)
			}
		})
	}
	if _, err := postgres.Open(t.Context(), secret.NewText("postgres://u:planted@%zz"), nil); err == nil ||
		strings.Contains(err.Error(), "planted") {
		t.Errorf("%v", err)
	}
}
