package tenancy_test

import (
	"context"
	"crypto/md5"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// digest returns a hash, by table, of all rows in all databases that contain the id of the foreign
// organization or of one of its objects.
func (w *world) digest() string {
	var all strings.Builder
	named := "%(" + strings.Join(append(slices.Clone(w.victims), w.foreign.org, w.foreign.member, w.foreign.home),
		"|") + ")%"
	for _, service := range slices.Sorted(maps.Keys(w.db)) {
		rows, _ := w.db[service].Query(context.Background(), `select table_name::text from information_schema.tables `+
			`where table_schema = 'public' order by 1`)
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			w.t.Fatal(err)
		}
		for _, table := range tables {
			rows, _ := w.db[service].Query(context.Background(), `select t::text as row from `+
				pgx.Identifier{table}.Sanitize()+` t where t::text similar to $1 order by 1`, named)
			texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				w.t.Fatal(err)
			}
			fmt.Fprintf(&all, "%s.%s: %d rows, %x\n", service, table, len(texts),
				md5.Sum([]byte(strings.Join(texts, "\n"))))
		}
	}
	return all.String()
}

// difference returns the tables for which two digests differ.
func difference(before, after string) string {
	var all []string
	old := strings.Split(before, "\n")
	for line := range strings.SplitSeq(after, "\n") {
		if !slices.Contains(old, line) {
			all = append(all, line)
		}
	}
	return strings.Join(all, "; ")
}
