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

// few is the largest number of text matches that are first collected and then counted and sorted. Without this, a
// planner that expects many matches reads the list in its order until a page is full. If there are only few matches,
// it reads the whole table.
const few = 5000

// Values of plan_cache_mode. With ownPlan Postgres plans a statement for its arguments. With onePlan it uses one plan
// for all arguments, which saves most of the time of a short statement. An empty value leaves the choice to Postgres.
const (
	ownPlan = "force_custom_plan"
	onePlan = "force_generic_plan"
)

// List is a page of rows and the totals of the whole list.
type List[T any] struct {
	Rows      []T
	Total     uint64
	Processed uint64    // the sequence of the service's last event
	At        time.Time // the time of that event, or of the first start if there is none
}

// Read runs a search. One statement reads both rows and totals, so they belong to the same moment: if Processed
// includes an event, Rows show its effect.
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

// Rows reads a page of a search without its totals, which would have to read the whole list.
func Rows[T any](ctx context.Context, db *pgxpool.Pool, s *Query, p Page) (list []T, err error) {
	sql := fmt.Sprintf("select * from (%s) page order by %s limit $%d offset $%d", s.rows(), s.sorted(p),
		len(s.args)+1, len(s.args)+2)
	err = s.run(ctx, db, p, sql, ownPlan, func(rows pgx.Rows) error {
		list, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
	return list, err
}

// few returns a statement that collects, counts and sorts at most few rows. If there are more, it returns no rows and
// the total few+1. Postgres stops reading `found` at that limit.
func (s *Query) few(p Page) string {
	found := "found as materialized (" + s.rows() + "), few as materialized (select * from found limit " +
		strconv.Itoa(few+1) + "), size as (select count(*) as n from few)"
	return s.statement(p, found, "select * from few", "size.n <= "+strconv.Itoa(few))
}

// many returns a statement that counts the rows and reads the page in the order of the list.
func (s *Query) many(p Page) string {
	return s.statement(p, "size as (select count(*) as n from "+s.from+s.where()+")", s.rows(), "true")
}

func (s *Query) rows() string { return "select " + s.columns + " from " + s.from + s.where() }

// head is the number of columns before the columns of a row: total, sequence and time.
const head = 3

// statement returns SQL that reads a page of rows, with the totals in each row. For an empty page it reads one row
// with the totals, and the other columns are null.
func (s *Query) statement(p Page, size, rows, shown string) string {
	order, limit, offset := s.sorted(p), strconv.Itoa(len(s.args)+1), strconv.Itoa(len(s.args)+2)
	return "with " + size + ` select size.n, coalesce((select position from events order by position desc limit 1), 0),
		coalesce((select time from events order by position desc limit 1), (select time from first_start)), page.*
		from size left join (` + rows + " order by " + order + " limit $" + limit + " offset $" + offset +
		") page on " + shown + " order by " + order
}

// sorted returns the columns for "order by" in the direction of the page. It uses the names of the columns in the
// result.
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

// read runs a statement in one round trip. plan is the plan_cache_mode.
func read[T any](ctx context.Context, db *pgxpool.Pool, s *Query, p Page, sql, plan string) (list List[T], err error) {
	if err := s.run(ctx, db, p, sql, plan, func(rows pgx.Rows) error { return list.scan(rows, p) }); err != nil {
		return List[T]{}, err
	}
	return list, nil
}

// run sends a statement whose last two arguments are the limit and the offset of a page, with a plan_cache_mode.
func (s *Query) run(
	ctx context.Context, db *pgxpool.Pool, p Page, sql, plan string, read func(pgx.Rows) error,
) error {
	var b pgx.Batch // one transaction
	if plan != "" {
		b.Queue("select set_config('plan_cache_mode', $1, true)", plan)
	}
	args := append(s.args[:len(s.args):len(s.args)], p.Limit, int64(p.Offset))
	b.Queue(sql, args...).Query(read)
	if err := db.SendBatch(ctx, &b).Close(); err != nil {
		return postgres.Fault(fmt.Errorf("search %s: %w", s.from, err))
	}
	return nil
}

// scan reads the rows of a statement.
func (l *List[T]) scan(rows pgx.Rows, p Page) error {
	if err := rows.Err(); err != nil {
		return err // after an error there are no columns
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

// place replaces a row in a call of pgx. It records into which field of the struct each column is scanned, so that
// this is computed once for all rows.
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
