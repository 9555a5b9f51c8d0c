package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"
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

func TestOnlyErrorsOfABrokenServerAreAnOutage(t *testing.T) {
	t.Parallel()
	refused := func(code string) error { return &pgconn.PgError{Code: code, Message: "words"} }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":             {nil, false},
		"disk full":           {refused("53100"), true},
		"shutdown":            {postgres.Fault(refused("57P01")), true},
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
