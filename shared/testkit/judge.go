package testkit

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/fault"
)

// Refused fails the test unless err is the fault with that id and its message contains all parts.
func Refused(t testing.TB, err error, id string, parts ...string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || f.ID != id {
		t.Errorf("got %v, want %s", err, id)
		return
	}
	for _, p := range parts {
		if !strings.Contains(f.Message, p) {
			t.Errorf("%s says %q, which lacks %q", id, f.Message, p)
		}
	}
}

// Race runs n attempts at the same time and returns how many succeeded. The others must fail with a fault that has
// one of the ids.
func Race(t testing.TB, n int, attempt func(i int) error, ids ...string) (succeeded int) {
	t.Helper()
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { errs[i] = attempt(i) })
	}
	wait.Wait()
	for _, err := range errs {
		if err == nil {
			succeeded++
		} else if f := fault.From(err); !slices.Contains(ids, f.ID) {
			t.Errorf("got %v, want %v", err, ids)
		}
	}
	return succeeded
}

// Once fails the test unless exactly one of n simultaneous attempts succeeds. The others must fail with a fault that
// has one of the ids.
func Once(t testing.TB, n int, attempt func(i int) error, ids ...string) {
	t.Helper()
	if succeeded := Race(t, n, attempt, ids...); succeeded != 1 {
		t.Errorf("%d of %d attempts succeeded, want 1", succeeded, n)
	}
}

// Rows counts the rows of a table. sql is the table's name, optionally followed by a condition.
func Rows(t testing.TB, db *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), "select count(*) from "+sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Waiting returns when n connections of a database wait for a lock. The pool must have a free connection for its
// queries.
func Waiting(t testing.TB, db *pgxpool.Pool, n int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for {
		if Rows(t, db, `pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`) >= n {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not within 30 s: %d connections that wait for a lock", n)
		}
	}
}

// Listed fails the test unless every method of a store is in one of two lists. asked has the methods that the test
// calls with another organization's objects. elsewhere has the methods without an owner, with the reasons.
func Listed[T any](t testing.TB, asked []string, elsewhere map[string]string) {
	t.Helper()
	methods := reflect.TypeFor[T]()
	var all []string
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		all = append(all, name)
		if slices.Contains(asked, name) == (elsewhere[name] != "") {
			t.Errorf("%s: add to everything how it is called and what it says of another organization's object, "+
				"or to elsewhere why it has no owner", name)
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(elsewhere)), asked...) {
		if !slices.Contains(all, name) {
			t.Errorf("the store has no method %s: take it out", name)
		}
	}
}

// Constrained fails the test unless every constraint of a service's tables is in one of two maps. violations has the
// constraints that the test violates, by name. never has the constraints that no request can violate, with the
// reasons. The store must have a fault for exactly those in violations. Unique indexes count as constraints, and so
// do the names that triggers use when they raise an error.
func Constrained[V any](
	t testing.TB, db *pgxpool.Pool, faults map[string]*fault.Fault, violations map[string]V, never map[string]string,
) {
	t.Helper()
	// The tables of the package event are left out. They were created before schema_version.
	rows, _ := db.Query(t.Context(), `
		select conname from pg_constraint
			where conrelid > 'schema_version'::regclass and contype in ('c', 'f', 'p', 'u', 'x')
		union select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
			where indrelid > 'schema_version'::regclass and indisunique and relnamespace = 'public'::regnamespace
		union select (regexp_matches(prosrc, 'constraint = ''(\w+)''', 'g'))[1] from pg_proc
			where pronamespace = 'public'::regnamespace
		order by 1`)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(all) == 0 {
		t.Fatalf("%d constraints, %v", len(all), err)
	}
	for _, name := range all {
		_, violated := violations[name]
		switch means := faults[name] != nil; {
		case means && !violated:
			t.Errorf("%s: add to violations a change that the constraint refuses, and the fault that it means", name)
		case means == (never[name] != ""):
			t.Errorf("%s: add to the store's constraints the fault that it means, or to never why no request is "+
				"refused by it", name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(faults)), slices.Collect(maps.Keys(violations)),
		slices.Collect(maps.Keys(never))) {
		if !slices.Contains(all, name) {
			t.Errorf("no table has a constraint %s: take it out", name)
		}
	}
}
