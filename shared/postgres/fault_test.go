package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/fault"
	"herald/shared/postgres"
	"herald/shared/secret"
)

var (
	errTaken  = fault.New(fault.Exists, "TEST_TAKEN", "")
	errParent = fault.New(fault.Precondition, "TEST_PARENT", "")
	errGone   = fault.New(fault.NotFound, "TEST_GONE", "")
)

// database returns a pool on a server that no other test uses.
func database(t testing.TB) (stopServer func(), pool *pgxpool.Pool) {
	t.Helper()
	server := start(t)
	return func() { stop(t, server) }, open(t, secret.NewText(server.URL()))
}

func run(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) error {
	_, err := pool.Exec(ctx, sql, args...)
	return err
}

func TestFaultOfAnswers(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	for _, sql := range []string{
		`create table parents (id text primary key)`,
		`create table things (id text constraint things_id primary key, n smallint, data jsonb, parent text ` +
			`constraint things_parent references parents)`,
		`insert into things values ('a')`,
	} {
		if err := run(t.Context(), pool, sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		sql  string
		args []any
		want string // a fault's id, or nothing where the error stays as it is
	}{
		{"NUL in a text", `select * from things where id = $1`, []any{"a\x00b"}, "INVALID_ARGUMENT"},
		{"bytes that are not UTF-8", `select * from things where id = $1`, []any{"\xff"}, "INVALID_ARGUMENT"},
		{"NUL in a list", `select * from things where id = any ($1)`, []any{[]string{"a", "\x00"}}, "INVALID_ARGUMENT"},
		{"NUL in JSON", `update things set data = $1`, []any{`{"a":"\u0000"}`}, "INVALID_ARGUMENT"},
		{"taken", `insert into things values ('a')`, nil, "TEST_TAKEN"},
		{"no parent", `insert into things values ('b', 1, '{}', 'x')`, nil, "TEST_PARENT"},
		{"a constraint that nobody names", `insert into parents values (null)`, nil, ""},
		{"faulty SQL", `selec`, nil, ""},
		{"no such table", `select from nowhere`, nil, ""},
		{"a number too large", `update things set n = $1`, []any{1 << 20}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := run(t.Context(), pool, c.sql, c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			got := postgres.Named(fmt.Errorf("wrapped: %w", err), map[string]*fault.Fault{
				"things_id": errTaken, "things_parent": errParent,
			})
			f, ok := errors.AsType[*fault.Fault](got)
			if ok != (c.want != "") || ok && f.ID != c.want || !ok && !errors.Is(got, err) {
				t.Errorf("%v, want %q", got, c.want)
			}
			if errors.Is(got, fault.ErrUnstorable) != (c.want == fault.ErrInvalidArgument.ID) {
				t.Errorf("%v: because of a character %t", got, errors.Is(got, fault.ErrUnstorable))
			}
		})
	}
	for code, want := range map[string]fault.Code{
		"40001": fault.Unavailable, "40P01": fault.Unavailable, "53300": fault.Unavailable, "53100": fault.Unavailable,
		"57P01": fault.Unavailable, "57P02": fault.Unavailable, "40003": fault.Unavailable, "25P03": fault.Unavailable,
		"25006": fault.Unavailable,
		"57P03": fault.Unavailable, "08006": fault.Unavailable, "57014": fault.Internal, "42501": fault.Internal,
		"23505": fault.Internal, "XX000": fault.Internal,
	} {
		t.Run(code, func(t *testing.T) {
			f := fault.From(postgres.Fault(run(t.Context(), pool,
				fmt.Sprintf(`do $$ begin raise exception using errcode = '%s'; end $$`, code))))
			if f.Code != want || (f.RetryAfter > 0) != (want == fault.Unavailable) {
				t.Errorf("%v, want code %d", f, want)
			}
			unsure := slices.Contains([]string{"08006", "40003", "57P01", "57P02"}, code)
			if errors.Is(f, fault.ErrUnsure) != unsure {
				t.Errorf("%v, want it unsure: %t", f, unsure)
			}
		})
	}
}

func TestFaultPassesOn(t *testing.T) {
	t.Parallel()
	if postgres.Fault(nil) != nil || postgres.Named(nil, nil) != nil || postgres.Missing(nil, errGone) != nil {
		t.Error("an error out of nothing")
	}
	for _, err := range []error{errTaken, fmt.Errorf("wrapped: %w", errTaken), errors.New("other"), context.Canceled,
		pgx.ErrNoRows} {
		if got := postgres.Fault(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	if f := fault.From(postgres.Fault(context.DeadlineExceeded)); f.Code != fault.Deadline {
		t.Errorf("a deadline became %v", f)
	}
	if known := fault.ErrInvalidArgument.Because(io.ErrUnexpectedEOF); postgres.Fault(known) != error(known) {
		t.Error("a fault becomes another by its cause")
	}
	if got := postgres.Missing(fmt.Errorf("wrapped: %w", pgx.ErrNoRows), errGone); got != errGone {
		t.Errorf("no row: %v", got)
	}
	if got := postgres.Missing(pgx.ErrTooManyRows, errGone); got != pgx.ErrTooManyRows {
		t.Errorf("too many rows: %v", got)
	}
}

// When a server stops, running statements, idle connections, new connections and transactions fail as unavailable.
func TestFaultWithoutServer(t *testing.T) {
	t.Parallel()
	stopServer, pool := database(t)
	unavailable := func(what string, err error) {
		t.Helper()
		if f := fault.From(postgres.Fault(err)); f.Code != fault.Unavailable || f.RetryAfter <= 0 {
			t.Errorf("%s: %v", what, err)
		}
	}
	busy, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Release()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	asleep := make(chan error, 1)
	pid := busy.Conn().PgConn().PID()
	go func() {
		_, err := busy.Exec(t.Context(), `select pg_sleep(60)`)
		asleep <- err
	}()
	for sleeping := false; !sleeping; {
		if err := pool.QueryRow(t.Context(), `select exists (select from pg_stat_activity where pid = $1 and `+
			`wait_event = 'PgSleep')`, pid).Scan(&sleeping); err != nil {
			t.Fatal(err)
		}
	}
	stopServer()
	err = <-asleep
	unavailable("under way", err)
	if !errors.Is(postgres.Fault(err), fault.ErrUnsure) {
		t.Errorf("under way, but surely not carried out: %v", err)
	}
	_, err = tx.Exec(t.Context(), `select 1`)
	unavailable("in a transaction", err)
	_, err = tx.Exec(t.Context(), `select 1`)
	unavailable("in a transaction whose connection is closed", err)
	for range 3 {
		err := run(t.Context(), pool, `select 1`)
		unavailable("later", err)
		if f, ok := errors.AsType[*pgconn.ConnectError](err); ok && errors.Is(postgres.Fault(err), fault.ErrUnsure) {
			t.Errorf("no connection, but it may have been carried out: %v", f)
		}
	}
	_, err = postgres.All[struct{ ID string }](t.Context(), pool, `select '' as id`, nil)
	unavailable("All", err)
	_, err = postgres.One[struct{ ID string }](t.Context(), pool, `select '' as id`, nil)
	unavailable("One", postgres.Missing(err, errGone))
}

// Each kind of broken connection counts as unavailable.
func TestFaultOfConnections(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: syscall.ECONNRESET}} {
		f := fault.From(postgres.Fault(fmt.Errorf("wrapped: %w", err)))
		if f.Code != fault.Unavailable || !errors.Is(f, fault.ErrUnsure) {
			t.Errorf("%v: %v", err, f)
		}
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never speaks
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = pgx.Connect(ctx, "postgres://u:x@"+silent.Addr().String()+"/x?sslmode=disable")
	if f := fault.From(postgres.Fault(err)); f.Code != fault.Unavailable || errors.Is(f, fault.ErrUnsure) {
		t.Errorf("a server that accepts and never speaks: %v", err)
	}
}

// A timeout is not unavailable, because the outcome is unknown.
func TestFaultOfTime(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	if err := pool.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := postgres.Fault(run(ctx, pool, `select pg_sleep(60)`))
	if _, ok := errors.AsType[*fault.Fault](got); ok || !errors.Is(got, context.DeadlineExceeded) {
		t.Errorf("%v", got)
	}
}

func TestOneAndAll(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	type row struct {
		ID string
		N  int
	}
	got, err := postgres.One[row](t.Context(), pool, `select 7 as n, @id as id`, postgres.Args{"id": "x"})
	if err != nil || got != (row{"x", 7}) {
		t.Errorf("%v %v", got, err)
	}
	_, err = postgres.One[row](t.Context(), pool, `select '' as id, 1 as n where false`, nil)
	if !errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("none: %v", err)
	}
	_, err = postgres.One[row](t.Context(), pool, `select '' as id, 1 as n from generate_series(1, 2)`, nil)
	if !errors.Is(err, pgx.ErrTooManyRows) {
		t.Errorf("two: %v", err)
	}
	all, err := postgres.All[row](t.Context(), pool, `select '' as id, n from generate_series(1, 3) as n`, nil)
	if err != nil || len(all) != 3 || all[2].N != 3 {
		t.Errorf("%v %v", all, err)
	}
	_, err = postgres.All[row](t.Context(), pool, `select @id as id, 1 as n`, postgres.Args{"id": "\x00"})
	if fault.From(err).Code != fault.Invalid {
		t.Errorf("NUL: %v", err)
	}
	if _, err := postgres.All[row](t.Context(), pool, `select '' as id`, nil); err == nil {
		t.Error("a column is missing")
	}
}
