package tenancy_test

import (
	"context"
	"crypto/md5"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// digest returns a hash, by table, of all rows in all databases that contain the id of the foreign organization or of
// one of its objects. Rows of the callers' own organization do not count, such as a role that it gave to a foreign
// user.
func (w *world) digest() string {
	var all strings.Builder
	named := "%(" + strings.Join(w.theirs(), "|") + ")%"
	for _, service := range slices.Sorted(maps.Keys(w.db)) {
		rows, _ := w.db[service].Query(context.Background(), `select table_name::text, `+ofOthers+`
			from information_schema.columns where table_schema = 'public' group by 1 order by 1`)
		type table struct{ Name, OfOthers string }
		tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[table])
		if err != nil {
			w.t.Fatal(err)
		}
		for _, table := range tables {
			rows, _ := w.db[service].Query(context.Background(), `select t::text as row from `+
				pgx.Identifier{table.Name}.Sanitize()+` t where t::text similar to $1 and `+table.OfOthers+`
				order by 1`, named, w.own.org)
			texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				w.t.Fatal(err)
			}
			fmt.Fprintf(&all, "%s.%s: %d rows, %x\n", service, table.Name, len(texts),
				md5.Sum([]byte(strings.Join(texts, "\n"))))
		}
	}
	return all.String()
}

// ofOthers is SQL that returns a condition for the rows of a table that are not those of the callers' organization $2:
// another one owns the row. Without an owner in it, the row must not name that organization.
const ofOthers = `coalesce(
	max(quote_ident(column_name)) filter (where column_name in ('org_id', 'organization_id')) || ' <> $2',
	't::text not like ''%'' || $2 || ''%''')`

// theirs returns the ids of the foreign organization and its objects.
func (w *world) theirs() []string {
	return append(slices.Clone(w.victims), w.foreign.org, w.foreign.member, w.foreign.home)
}

// fingerprint is such a digest of the rows of which a column, and not only a part of one, is such an id.
// It takes a few milliseconds.
func (w *world) fingerprint() string {
	if w.queries == nil {
		w.queries = map[string]string{}
		for service := range w.db {
			w.queries[service] = w.fingerprintQuery(service)
		}
	}
	texts, theirs := map[string]string{}, w.theirs()
	var busy sync.WaitGroup
	var mu sync.Mutex
	for service, query := range w.queries {
		busy.Go(func() {
			rows, _ := w.db[service].Query(context.Background(), query, theirs, w.own.org)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				w.t.Errorf("%s: %v", service, err)
			}
			mu.Lock()
			defer mu.Unlock()
			texts[service] = strings.Join(lines, "\n")
		})
	}
	busy.Wait()
	var all []string
	for _, service := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, texts[service])
	}
	return strings.Join(all, "\n")
}

// fingerprintQuery returns a query of a line for each table with such columns.
func (w *world) fingerprintQuery(service string) string {
	rows, _ := w.db[service].Query(context.Background(), `select table_name::text, string_agg(case data_type
		when 'ARRAY' then quote_ident(column_name) || ' && $1::text[]'
		else quote_ident(column_name) || '::text = any($1::text[])' end, ' or '), `+ofOthers+`
		from information_schema.columns where table_schema = 'public'
		and (data_type in ('text', 'uuid', 'character varying') or udt_name = '_text') group by 1 order by 1`)
	type table struct{ Name, Condition, OfOthers string }
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[table])
	if err != nil {
		w.t.Fatal(err)
	}
	var each []string
	for _, t := range tables {
		each = append(each, fmt.Sprintf(`select format('%s.%s: %%s rows, %%s', count(*), md5(string_agg(t::text, ' '
			order by t::text))) from %s t where (%s) and %s`,
			service, t.Name, pgx.Identifier{t.Name}.Sanitize(), t.Condition, t.OfOthers))
	}
	return strings.Join(each, " union all ")
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
