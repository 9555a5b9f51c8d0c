package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

// start starts a server for one test, without databases of services.
func start(t testing.TB) *local.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "postgres-test-") // t.TempDir is closed to the server's user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := local.Start(t.Context(), local.Options{Dir: dir + "/postgres", Bin: os.Getenv("PG_BIN"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t testing.TB, s *local.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func keys(t testing.TB, digit string) secret.Keys {
	t.Helper()
	k, err := secret.ParseKeys(strings.Repeat(digit, 64))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func open(t testing.TB, url secret.Text) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url, noop.NewTracerProvider())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func exec(t testing.TB, url string, sql ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, s := range sql {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// refusal returns the code with which a server refuses a connection, or "".
func refusal(t testing.TB, url secret.Text) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url.Reveal())
	if err == nil {
		conn.Close(t.Context())
		return ""
	}
	return code(err)
}

// together runs a function several times at once.
func together(t testing.TB, n int, f func(int) error) {
	t.Helper()
	var all sync.WaitGroup
	ready := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-ready
			if err := f(i); err != nil {
				t.Errorf("%d of %d at once: %v", i, n, err)
			}
		})
	}
	close(ready)
	all.Wait()
}

func name(i int) string { return fmt.Sprintf("service%d", i) }
