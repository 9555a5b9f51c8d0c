package store_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"herald/services/users/internal/store"
	"herald/shared/search"
)

// Every text by which users are searched is in the index of their parts, and Postgres uses the index for the
// condition of the searches.
func TestPartsOfUsersAreIndexed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []search.Column{store.UserName, store.FirstName, store.LastName, store.DisplayName, store.Email} {
		if c.Among != store.UserTexts || !strings.Contains(c.Among, " "+c.Exact+" ||") ||
			!strings.Contains(c.Among, c.Folded+" ||") {
			t.Errorf("%+v", c)
		}
	}
	tx, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { w.must(nil, tx.Rollback(t.Context())) }()
	if _, err := tx.Exec(t.Context(), "set local enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(t.Context(), "explain select from users where "+store.UserTexts+" like '%part%'")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !strings.Contains(strings.Join(plan, "\n"), "Bitmap Index Scan on users_by_part") {
		t.Errorf("%v\n%s", err, strings.Join(plan, "\n"))
	}
}
