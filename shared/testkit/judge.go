package testkit

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/fault"
)

// Refused fails the test unless err is the fault of that id, whose message says all parts.
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

// Race runs attempts at once and returns how many succeeded; all others must be refused
// with one of the ids.
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

// Rows counts the rows of a table, with a condition after its name.
func Rows(t testing.TB, db *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), "select count(*) from "+sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
