package delivery

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/shared/postgres"
	"herald/shared/retry"
)

// note logs the first failure of an outage only, and does not log that a database server does not work.
func TestNote(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	w := &retry.Outage{Log: slog.New(slog.NewTextHandler(&said, nil)), Begins: "BEGINS", Ends: "ENDS",
		Explained: (*postgres.Watch)(nil).Explains}
	note(w, nil)
	note(w, &pgconn.PgError{Code: "53100"})
	if said.Len() > 0 {
		t.Errorf("said %s", said.String())
	}
	note(w, errors.New("first"))
	note(w, errors.New("second"))
	if lines := said.String(); strings.Count(lines, "BEGINS") != 1 || !strings.Contains(lines, "err=first") {
		t.Errorf("said %s", lines)
	}
}
