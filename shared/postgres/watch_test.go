package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/fault"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/secret"
	"herald/shared/testkit"
)

const endConnections = `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'herald%'`

// An outage has two lines in the log, however many statements of however many services fail meanwhile.
func TestOutageHasTwoLines(t *testing.T) {
	t.Parallel()
	server := start(t)
	var logs testkit.Lines
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	watch := postgres.NewWatch(slog.New(slog.NewTextHandler(&logs, nil)), func() time.Time { return now })
	var pools []*pgxpool.Pool
	for _, service := range []string{"users", "text"} {
		pool, err := postgres.OpenAs(t.Context(), secret.NewText(server.TCP()), keys(t, "a"), service,
			postgres.Observers{Traces: noop.NewTracerProvider(), Watch: watch})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		pools = append(pools, pool)
	}
	all := func() (failed int) {
		for range 5 {
			for _, pool := range pools {
				if err := run(t.Context(), pool, `select 1`); err != nil {
					failed++
				}
				if _, err := pool.Exec(t.Context(), `select 1/0`); code(err) != "22012" && failed == 0 {
					t.Errorf("%v", err)
				}
			}
		}
		return failed
	}
	if failed := all(); failed > 0 || logs.String() != "" {
		t.Fatalf("%d statements failed; %s", failed, logs.String())
	}
	end(t, server)
	if failed := all(); failed != 10 {
		t.Errorf("%d statements failed", failed)
	}
	if err := watch.Err(); err == nil || !strings.Contains(err.Error(), "does not work since 2026-01-02T03:04:05Z") {
		t.Errorf("during the outage: %v", err)
	}
	now = now.Add(30 * time.Second)
	all()
	restart(t, server)
	now = now.Add(time.Second)
	if failed := all(); failed > 0 {
		t.Errorf("%d statements failed", failed)
	}
	if n := strings.Count(logs.String(), "\n"); n != 1 {
		t.Errorf("a second after the last error the log says %s", logs.String())
	}
	now = now.Add(time.Minute)
	all()
	if err := watch.Err(); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(logs.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `msg="Postgres does not work" server=127.0.0.1:`) ||
		!strings.Contains(lines[1], `msg="Postgres works again" server=127.0.0.1:`) ||
		!strings.Contains(lines[1], "away=31s") || !strings.Contains(lines[1], "connection refused") {
		t.Errorf("the log says %q", lines)
	}
	if !strings.Contains(lines[0], "terminating connection due to administrator command") {
		t.Errorf("the log does not say what the server said: %q", lines[0])
	}
	exec(t, server.TCP(), endConnections)
	if all() == 0 {
		t.Error("no connection was ended")
	}
	if n := strings.Count(logs.String(), "\n"); n != 2 {
		t.Errorf("connections that were ended are no outage; the log says %s", logs.String())
	}
	now = now.Add(time.Minute)
	all()
	exec(t, server.TCP(), endConnections)
	all()
	logs.Wait(t, `level=WARN msg="connections to Postgres broke; others are made"`)
	if n := strings.Count(logs.String(), "\n"); n != 3 {
		t.Errorf("the log says %s", logs.String())
	}
}

// A server that refuses changes works. Reads that it answers do not end that; changes that it takes do. If the process
// itself makes it refuse them, it says so in lines of its own.
func TestRefusedChangesHaveTwoLinesHoweverManyReadsSucceed(t *testing.T) {
	t.Parallel()
	for name, ours := range map[string]bool{"an operator's server": false, "the process's own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			var logs testkit.Lines
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			watch := postgres.NewWatch(slog.New(slog.NewTextHandler(&logs, nil)), func() time.Time { return now })
			if ours {
				watch.RefusesForUs()
			}
			pool, err := postgres.OpenAs(t.Context(), secret.NewText(server.TCP()), keys(t, "a"), "users",
				postgres.Observers{Traces: noop.NewTracerProvider(), Watch: watch})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			says := func(when, lines, ready string) {
				t.Helper()
				if ours {
					lines, ready = "", "<nil>"
				}
				var said []string
				for line := range strings.Lines(logs.String()) {
					_, text, _ := strings.Cut(line, "msg=")
					text, _, _ = strings.Cut(text, " server=")
					said = append(said, text)
				}
				if got := strings.Join(said, ", "); got != lines {
					t.Errorf("%s the log says %s, want %s", when, got, lines)
				}
				if err := postgres.Ask(limited(t), pool, watch.TakesChanges); fmt.Sprint(err) != ready {
					t.Errorf("%s readiness says %v, want %s", when, err, ready)
				}
				if err := watch.Err(); err != nil {
					t.Errorf("%s the server works, but there is %v", when, err)
				}
			}
			exec(t, server.TCP(), `create table t (n int); grant all on t to public`)
			refuse(t, server, pool, true)
			for range 3 { // as pollers do, again and again
				now = now.Add(5 * time.Second)
				_, err := pool.Exec(t.Context(), `insert into t values (1)`)
				if fault.From(postgres.Fault(err)).Code != fault.Unavailable || !postgres.IsOutage(err) {
					t.Errorf("a refused change is %v", err)
				}
				now = now.Add(5 * time.Second)
				if err := run(t.Context(), pool, `select 1`); err != nil {
					t.Error(err)
				}
			}
			says("meanwhile", `"Postgres refuses changes"`, "the database server refuses changes: it is read-only")
			refuse(t, server, pool, false)
			if _, err := pool.Exec(t.Context(), `insert into t values (1)`); err != nil {
				t.Fatal(err)
			}
			says("afterwards", `"Postgres refuses changes", "Postgres takes changes again"`, "<nil>")
		})
	}
}

// refuse makes a server refuse or allow changes, and waits until a pool has noticed.
func refuse(t *testing.T, server *local.Server, pool *pgxpool.Pool, refuses bool) {
	t.Helper()
	if err := postgres.RefuseChanges(t.Context(), secret.NewText(server.URL()), refuses); err != nil {
		t.Fatal(err)
	}
	pool.Reset() // connections that are made later have the setting
}

func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func restart(t *testing.T, server *local.Server) {
	t.Helper()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// end ends a server as somebody else's signal does.
func end(t *testing.T, server *local.Server) {
	t.Helper()
	var data string
	conn, err := pgx.Connect(t.Context(), server.TCP())
	if err != nil {
		t.Fatal(err)
	}
	err = conn.QueryRow(t.Context(), `show data_directory`).Scan(&data)
	conn.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(data + "/postmaster.pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Split(string(text), "\n")[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(t.Context()); err == nil {
		t.Fatal("the server runs on")
	}
}

// A statement that takes too long is explained by an outage that is logged, and for some seconds after its end.
func TestSlowStatementIsExplainedByAnOutage(t *testing.T) {
	t.Parallel()
	server := start(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	watch := postgres.NewWatch(slog.New(slog.DiscardHandler), func() time.Time { return now })
	pool, err := postgres.OpenAs(t.Context(), secret.NewText(server.TCP()), keys(t, "a"), "users",
		postgres.Observers{Traces: noop.NewTracerProvider(), Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	after := func(d time.Duration, when string, want bool) {
		t.Helper()
		now = now.Add(d)
		err := run(t.Context(), pool, `select 1`)
		if got := watch.Explains(postgres.Fault(context.DeadlineExceeded)); err != nil || got != want {
			t.Errorf("%s: explained is %v; %v", when, got, err)
		}
	}
	after(0, "before the outage", false)
	end(t, server)
	for range 2 { // a connection breaks, and no other can be made
		_ = run(t.Context(), pool, `select 1`)
	}
	restart(t, server)
	after(time.Second, "while the outage is logged", true)
	after(2*time.Second, "right after its end", true)
	after(time.Minute, "a minute later", false)
}

// A statement that takes too long is explained by an outage only if none has succeeded for a while.
func TestSlowStatementIsExplainedWhileNoneSucceeds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	watch := postgres.NewWatch(slog.New(slog.DiscardHandler), func() time.Time { return now })
	slow := fmt.Errorf("claim: %w", postgres.Fault(context.DeadlineExceeded))
	if watch.Explains(slow) {
		t.Error("explained before any statement")
	}
	pool, err := postgres.OpenAs(t.Context(), secret.NewText(start(t).TCP()), keys(t, "a"), "users",
		postgres.Observers{Traces: noop.NewTracerProvider(), Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := run(t.Context(), pool, `select 1`); err != nil || watch.Explains(slow) {
		t.Errorf("explained right after another has succeeded; %v", err)
	}
	now = now.Add(4 * time.Second)
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a statement":             {slow, true},
		"an answer of JetStream":  {fmt.Errorf("stream EVENTS: %w", context.DeadlineExceeded), false},
		"an answer of a service":  {fault.ErrDeadlineExceeded.Because(context.DeadlineExceeded), false},
		"no deadline":             {errors.New("words"), false},
		"a statement of a caller": {fault.From(slow), true},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // before the next statement
			if got := watch.Explains(c.err); got != c.want {
				t.Errorf("4 s after the last success: explained is %v", got)
			}
		})
	}
	if err := run(t.Context(), pool, `select 1`); err != nil || watch.Explains(slow) {
		t.Errorf("explained after a success; %v", err)
	}
}

func TestOnlyErrorsOfABrokenServerAreAnOutage(t *testing.T) {
	t.Parallel()
	refused := func(code string) error { return &pgconn.PgError{Code: code, Message: "words"} }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":             {nil, false},
		"disk full":           {refused("53100"), true},
		"changes refused":     {postgres.Fault(refused("25006")), true},
		"shutdown":            {postgres.Fault(refused("57P01")), true},
		"idle for too long":   {postgres.Fault(refused("57P05")), true}, // all relays, after a frozen server
		"deadlock":            {postgres.Fault(refused("40P01")), false},
		"taken name":          {refused("23505"), false},
		"broken connection":   {postgres.Fault(syscall.ECONNRESET), true},
		"another connection":  {syscall.ECONNRESET, false},
		"another service":     {fault.ErrUnavailable, false},
		"a client that left":  {postgres.Fault(context.Canceled), false},
		"a slow statement":    {postgres.Fault(context.DeadlineExceeded), false},
		"something else":      {errors.New("words"), false},
		"an interrupted call": {refused("57014"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := postgres.IsOutage(c.err); got != c.want {
				t.Errorf("IsOutage(%v) = %v", c.err, got)
			}
		})
	}
}

// While all connections are in use, a database works if others get connections, and does not if nobody gets one.
func TestBusyDatabaseWorks(t *testing.T) {
	t.Parallel()
	url := secret.NewText(start(t).URL())
	for name, c := range map[string]struct {
		moves bool
		check error
		want  string
	}{
		"others get connections": {moves: true},
		"nobody gets one":        {want: "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, err := postgres.Open(t.Context(), url, noop.NewTracerProvider())
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			over := make(chan struct{})
			var users sync.WaitGroup
			taken := make(chan struct{}, 64)
			for range 3 * pool.Config().MaxConns { // so that some always wait
				users.Go(func() {
					for {
						_ = pool.AcquireFunc(context.Background(), func(*pgxpool.Conn) error {
							taken <- struct{}{}
							if !c.moves {
								<-over
								return nil
							}
							<-time.After(100 * time.Millisecond) // the work of a request
							return nil
						})
						select {
						case <-over:
							return
						case <-taken:
						}
					}
				})
			}
			for range pool.Config().MaxConns {
				<-taken
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err = postgres.Ask(ctx, pool, func(context.Context, *pgx.Conn) error { return nil })
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("Ask returned %v, want %q", err, c.want)
			}
			close(over)
			users.Wait()
		})
	}
}
