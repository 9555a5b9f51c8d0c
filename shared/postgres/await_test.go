package postgres_test

import (
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/postgres"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// A service that starts before its database waits for it. A wrong password is an error at once.
func TestAwait(t *testing.T) {
	t.Parallel()
	server := start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server.TCP())
	if err != nil {
		t.Fatal(err)
	}
	there := u.Host
	u.Host = address
	var logs testkit.Lines
	observers := postgres.Observers{Traces: noop.NewTracerProvider(),
		Watch: postgres.NewWatch(slog.New(slog.NewTextHandler(&logs, nil)), time.Now)}
	pool, err := postgres.OpenAs(t.Context(), secret.NewText(u.String()), keys(t, "a"), "users", observers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	done := make(chan error, 1)
	go func() { done <- postgres.Await(t.Context(), pool) }()
	logs.Wait(t, "Postgres does not work")
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go forward(l, there)
	if err := <-done; err != nil {
		t.Error(err)
	}
	u.Host, u.User = there, url.UserPassword(u.User.Username(), "wrong")
	refused, err := postgres.OpenAs(t.Context(), secret.NewText(u.String()), keys(t, "a"), "users", observers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(refused.Close)
	if err := postgres.Await(t.Context(), refused); err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("a wrong password: %v", err)
	}
}

// forward connects every connection to an address.
func forward(l net.Listener, to string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			return
		}
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
	}
}
