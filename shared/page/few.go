package page

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// few is how many matches are found once, counted and sorted. Left to itself the planner
// walks through the whole list in its order as soon as it guesses that a part of a text
// is common, hoping to meet with a page of matches soon; where they are rarer or older
// than it guessed it reads everything.
const few = 5000

// readFew answers only where there are no more matches than few.
func readFew[T any](ctx context.Context, db *pgxpool.Pool, s *Search, p Page) (list List[T], all bool, err error) {
	sql, hidden := s.few(p)
	plan := onePlan // an index has those that begin alike side by side
	if s.parts {
		plan = ownPlan
	}
	list, err = read(ctx, db, s, plan, func(b *pgx.Batch, list *List[T]) {
		b.Queue(sql, s.bounded(p)...).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				r := inner{rows, hidden}
				if err := r.total(&list.Total); err != nil {
					return err
				}
				if !r.found() {
					continue
				}
				row, err := pgx.RowToStructByName[T](r)
				if err != nil {
					return err
				}
				list.Rows = append(list.Rows, row)
			}
			all = list.Total <= few
			return rows.Err()
		})
	})
	return list, all, err
}

// few is a query for the number of matches, one more than few for all that are more, and
// beside it the rows of a page: at least one row, which may be empty. It also tells how
// many columns at the end are its own, the first of which is null in the empty row. Rows
// are only taken from `found` as long as somebody wants them.
func (s *Search) few(p Page) (sql string, hidden int) {
	own, order := "true as is_found", make([]string, 0, 2)
	for i, column := range strings.Split(s.order, ",") {
		name := fmt.Sprintf("order_%d", i)
		own += fmt.Sprintf(", %s as %s", column, name)
		order = append(order, name)
	}
	sorted, n := p.order(strings.Join(order, ",")), len(s.args)
	return fmt.Sprintf(`with found as materialized (select %s, %s from %s%s),
		few as materialized (select * from found limit %d),
		size as (select count(*) as n from few)
		select size.n, page.* from size
		left join (select * from few order by %s limit $%d offset $%d) page on size.n <= %d order by %s`,
		s.columns, own, s.from, s.where(), few+1, sorted, n+1, n+2, few, sorted), len(order) + 1
}

// inner is a row of such a query without its own columns.
type inner struct {
	pgx.CollectableRow
	hidden int
}

func (r inner) total(n *uint64) error {
	columns := make([]any, len(r.CollectableRow.FieldDescriptions()))
	columns[0] = n // nil skips a column
	return r.CollectableRow.Scan(columns...)
}

func (r inner) found() bool {
	values := r.RawValues()
	return values[len(values)-r.hidden] != nil
}

// FieldDescriptions names the columns that are the search's.
func (r inner) FieldDescriptions() []pgconn.FieldDescription {
	all := r.CollectableRow.FieldDescriptions()
	return all[1 : len(all)-r.hidden]
}

// Scan reads them.
func (r inner) Scan(columns ...any) error {
	all := append([]any{nil}, columns...)
	return r.CollectableRow.Scan(append(all, make([]any, r.hidden)...)...)
}
