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

// Race runs n attempts at once and returns how many succeeded. The others must fail with a fault
// of one of the ids.
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

// Rows counts the rows of a table. sql is its name, perhaps followed by a condition.
func Rows(t testing.TB, db *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), "select count(*) from "+sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Waiting returns when n connections of a database wait for a lock. A connection of the pool
// must be free then.
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

// Listed fails the test unless every method of a store is in one of two lists: methods that the
// test calls for another organization's objects, and methods without an owner, with the reason.
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
