package search

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/postgres"
)

// few is how many matches of a text are found once, counted and sorted. Left to itself
// the planner walks through the whole list in its order as soon as it guesses that a part
// of a text is common, hoping to meet with a page of matches soon; where they are rarer
// or older than it guessed it reads everything.
const few = 5000

// How statements are planned: each for its own arguments, as the plan for one text is
// none for the next, or once for all, which spares most of the time of a short one.
// Otherwise Postgres chooses.
const (
	ownPlan = "force_custom_plan"
	onePlan = "force_generic_plan"
)

// List is a page of rows and what is known about the whole.
type List[T any] struct {
	Rows      []T
	Total     uint64
	Processed uint64    // the service's last event at the time of the read
	At        time.Time // and its time, or that of the first start
}

// Read runs a search. Rows, total and history are of one statement, and so of one moment:
// whoever sees an event's sequence in Processed sees its effect in Rows.
func Read[T any](ctx context.Context, db *pgxpool.Pool, s *Query, p Page) (List[T], error) {
	if !s.texts {
		return read[T](ctx, db, s, p, s.many(p), "")
	}
	list, err := read[T](ctx, db, s, p, s.few(p), s.plan)
	if err == nil && list.Total > few {
		return read[T](ctx, db, s, p, s.many(p), ownPlan)
	}
	return list, err
}

// few finds, counts and sorts up to few rows; of more it only tells that there are more.
// Rows are only taken from `found` as long as somebody wants them.
func (s *Query) few(p Page) string {
	found := "found as materialized (" + s.rows() + "), few as materialized (select * from found limit " +
		strconv.Itoa(few+1) + "), size as (select count(*) as n from few)"
	return s.statement(p, found, "select * from few", "size.n <= "+strconv.Itoa(few))
}

// many counts the rows, and walks through them in their order for the page.
func (s *Query) many(p Page) string {
	return s.statement(p, "size as (select count(*) as n from "+s.from+s.where()+")", s.rows(), "true")
}

func (s *Query) rows() string { return "select " + s.columns + " from " + s.from + s.where() }

// head is the number of the columns in front of those of a row.
const head = 3

// statement reads a page of rows, and beside it their number, in size, and the service's
// history: at least one row, whose own columns are null where the page is empty.
func (s *Query) statement(p Page, size, rows, shown string) string {
	order, limit, offset := s.sorted(p), strconv.Itoa(len(s.args)+1), strconv.Itoa(len(s.args)+2)
	return "with " + size + ` select size.n, coalesce((select position from events order by position desc limit 1), 0),
		coalesce((select time from events order by position desc limit 1), (select time from first_start)), page.*
		from size left join (` + rows + " order by " + order + " limit $" + limit + " offset $" + offset +
		") page on " + shown + " order by " + order
}

// sorted gives the columns that sort the list the page's direction. They go by the names
// that the result gives them.
func (s *Query) sorted(p Page) string {
	direction := " desc"
	if p.Asc {
		direction = " asc"
	}
	columns := strings.Split(s.order, ", ")
	for i, column := range columns {
		columns[i] = column[strings.LastIndexByte(column, '.')+1:] + direction
	}
	return strings.Join(columns, ", ")
}

// read runs a statement in one round trip, planned as told.
func read[T any](ctx context.Context, db *pgxpool.Pool, s *Query, p Page, sql, plan string) (list List[T], err error) {
	var b pgx.Batch // one transaction
	if plan != "" {
		b.Queue("select set_config('plan_cache_mode', $1, true)", plan)
	}
	args := append(s.args[:len(s.args):len(s.args)], p.Limit, int64(p.Offset))
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error { return list.scan(rows, p) })
	if err := db.SendBatch(ctx, &b).Close(); err != nil {
		return List[T]{}, postgres.Fault(fmt.Errorf("search %s: %w", s.from, err))
	}
	return list, nil
}

// scan reads what a statement answers with.
func (l *List[T]) scan(rows pgx.Rows, p Page) error {
	if err := rows.Err(); err != nil {
		return err // there are no columns
	}
	columns := place{of: rows.FieldDescriptions()[head:]}
	row, err := pgx.RowToAddrOfStructByName[T](&columns)
	if err != nil {
		return err
	}
	none := make([]any, head+len(columns.at)) // nil skips a column
	none[0], none[1], none[2] = &l.Total, &l.Processed, &l.At
	one := append(none[:head:head], columns.at...)
	for rows.Next() {
		if rows.RawValues()[head] == nil {
			return rows.Scan(none...)
		}
		if err := rows.Scan(one...); err != nil {
			return err
		}
		if l.Rows == nil {
			l.Rows = make([]T, 0, min(l.Total, uint64(p.Limit)))
		}
		l.Rows = append(l.Rows, *row)
		*row = *new(T)
	}
	return rows.Err()
}

// place is a row without values: it only notes where in a struct each column belongs,
// once for all rows.
type place struct {
	pgx.CollectableRow
	of []pgconn.FieldDescription
	at []any
}

// FieldDescriptions implements pgx.CollectableRow.
func (p *place) FieldDescriptions() []pgconn.FieldDescription { return p.of }

// Scan implements pgx.CollectableRow.
func (p *place) Scan(at ...any) error {
	p.at = at
	return nil
}
