package postgres

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// A try to connect that began during an outage and fails after its end is not another outage. A later one is.
func TestLateFailureBelongsToTheOutageBefore(t *testing.T) {
	t.Parallel()
	var logs strings.Builder
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := NewWatch(slog.New(slog.NewTextHandler(&logs, nil)), func() time.Time { return now })
	const server = "db"
	_, refused := pgconn.Connect(t.Context(), "postgres://nobody@127.0.0.1:1/nothing")
	begin := func() context.Context { return context.WithValue(t.Context(), connecting{}, now) }
	w.saw(begin(), server, refused)
	now = now.Add(time.Second)
	late := begin()
	w.saw(t.Context(), server, nil)
	now = now.Add(2 * settle)
	w.saw(t.Context(), server, nil)
	w.saw(late, server, refused)
	if n := strings.Count(logs.String(), "\n"); n != 2 {
		t.Errorf("one outage has %d lines: %s", n, logs.String())
	}
	now = now.Add(time.Second)
	w.saw(begin(), server, refused)
	if n := strings.Count(logs.String(), "Postgres does not work"); n != 2 {
		t.Errorf("two outages have %d lines: %s", n, logs.String())
	}
}
