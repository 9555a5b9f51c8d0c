package postgres_test

import (
	"context"
	"fmt"
	"slices"
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
	// A new release adds one step.
	own["migrations/004_step.sql"] = &fstest.MapFile{Data: []byte(`insert into runs values (4)`)}
	if err := postgres.Migrate(t.Context(), pool, "schema_version", own); err != nil {
		t.Fatal(err)
	}
	if read(); runs != 3 || version != 4 {
		t.Errorf("after the new release: runs %d, version %d", runs, version)
	}
}

// An older program takes a newer schema as it is, unless it does not work with it, or nobody has said that it does.
func TestMigrateBack(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	first, second := `create table a (id int)`, `create table b (id int)`
	ended := "-- Earlier versions of Herald do not work with this.\ndrop table a"
	migrate := func(sql ...string) error { return postgres.Migrate(t.Context(), pool, "schema_version", files(sql...)) }
	plan := func(sql ...string) error {
		_, err := postgres.Pending(t.Context(), pool, "schema_version", files(sql...))
		return err
	}
	for name, c := range map[string]func(...string) error{"migrate": migrate, "plan": plan} {
		if err := migrate(first, second); err != nil {
			t.Fatal(err)
		}
		if err := c(first); err != nil {
			t.Errorf("%s: an older program refuses a newer schema: %v", name, err)
		}
	}
	if err := migrate(first, second, ended, `create table d (id int)`); err != nil {
		t.Fatal(err)
	}
	if err := migrate(first, second, ended); err != nil {
		t.Errorf("a program with the migration that ended something: %v", err)
	}
	for name, c := range map[string]func(...string) error{"migrate": migrate, "plan": plan} {
		if err := c(first, second); err == nil || !strings.Contains(err.Error(),
			"of a newer Herald: its schema_version is 4, and this program knows 2;") {
			t.Errorf("%s: a program that does not work with the schema: %v", name, err)
		}
	}
	if err := run(t.Context(), pool, `alter table schema_version drop column oldest`); err != nil {
		t.Fatal(err)
	}
	if err := migrate(first, second, ended); err == nil {
		t.Error("a schema of which nobody has said who works with it")
	}
}

// The tables of a backup are made at its version, which must not be newer than the program.
func TestMigrateToAnEarlierVersion(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	all := files(`create table a (id int)`, `create table b (id int)`)
	if err := postgres.MigrateTo(t.Context(), pool, "schema_version", all, 1); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), pool, `select from b`); code(err) != "42P01" {
		t.Errorf("the second version is there: %v", err)
	}
	if err := postgres.MigrateTo(t.Context(), pool, "schema_version", all, 3); err == nil ||
		!strings.Contains(err.Error(), "its schema_version is 3, and this program knows 2") {
		t.Errorf("a newer version: %v", err)
	}
	if err := postgres.Migrate(t.Context(), pool, "schema_version", all); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), pool, `select from b`); err != nil {
		t.Error(err)
	}
}

// A migration that cannot have its lock does not hold up requests behind it. It is repeated until it can.
func TestMigrationLetsRequestsGoFirst(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	all := files(`create table busy (id int)`)
	if err := postgres.Migrate(t.Context(), pool, "schema_version", all); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	const reads = `set local idle_in_transaction_session_timeout = 0; select from busy`
	if _, err := tx.Exec(t.Context(), reads); err != nil {
		t.Fatal(err)
	}
	all["migrations/002_step.sql"] = &fstest.MapFile{Data: []byte(`alter table busy add column more int`)}
	pending, err := postgres.Pending(t.Context(), pool, "schema_version", all)
	if err != nil || !slices.Equal(pending, []string{"002_step.sql"}) {
		t.Errorf("pending are %q, %v", pending, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- postgres.Migrate(t.Context(), pool, "schema_version", all) }()
	for waits := false; !waits; {
		err := pool.QueryRow(t.Context(), `select exists (select from pg_locks where not granted)`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := run(t.Context(), pool, `select from busy`); err != nil { // waits for lockLimit at most
		t.Errorf("a request behind the migration: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("the migration has ended: %v", err)
	default:
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if pending, err := postgres.Pending(t.Context(), pool, "schema_version", all); err != nil || len(pending) > 0 {
		t.Errorf("pending are %q, %v", pending, err)
	}
}

// Postgres may grant the lock of migrations at the moment at which the wait for it ends with an error. The connection
// then has the lock, and nobody knows it. Another replica must be able to migrate all the same.
func TestMigrationGivesAnUnnoticedLockBack(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	all := files(`create table one (id int)`)
	if err := postgres.Migrate(t.Context(), pool, "schema_version", all); err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const lock = 9628173550095224 // that of tern
	if _, err := conn.Exec(t.Context(), `select pg_advisory_lock($1)`, lock); err != nil {
		t.Fatal(err)
	}
	conn.Release() // the pool gives out this connection next
	if err := postgres.Migrate(t.Context(), pool, "schema_version", all); err != nil {
		t.Fatal(err)
	}
	var held int
	err = pool.QueryRow(t.Context(), `select count(*) from pg_locks where locktype = 'advisory'
		and database = (select oid from pg_database where datname = current_database())`).Scan(&held)
	if err != nil || held != 0 {
		t.Errorf("%d locks are held, %v", held, err)
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
