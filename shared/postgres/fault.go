package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/shared/fault"
)

// Fault gives a database error the fault that it stands for: a server that is away
// is *unavailable*, as is one that ended a deadlock, and a text that Postgres does
// not store, with NUL or bytes that are not UTF-8, is *invalid*. Everything else
// stays what it is.
func Fault(err error) error {
	if err == nil || isFault(err) {
		return err
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case refused.Code == "22021" || refused.Code == "22P05": // the latter in JSON
			return fault.ErrInvalid.Say("A text holds a character that cannot be stored, such as NUL").Because(err)
		case slices.ContainsFunc(passing, func(class string) bool { return strings.HasPrefix(refused.Code, class) }):
			return away(err)
		}
		return err
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return away(err)
	}
	_, network := errors.AsType[net.Error](err)
	if !errors.Is(err, context.DeadlineExceeded) && (network || errors.Is(err, io.ErrUnexpectedEOF) ||
		pgconn.SafeToRetry(err)) {
		return away(err)
	}
	return err
}

// passing are the classes of errors after which nothing was written and a later try
// may succeed: 08 connection, 40 rollback, 53 resources, 57P operator intervention
// (Postgres, appendix A).
var passing = []string{"08", "40", "53", "57P"}

func isFault(err error) bool {
	_, ok := errors.AsType[*fault.Fault](err)
	return ok
}

func away(err error) error { return fault.ErrUnavailable.After(time.Second).Because(err) }

// Named returns the fault that a table gives the constraint behind err: taken
// names, missing parents. Other errors pass through Fault.
func Named(err error, constraints map[string]*fault.Fault) error {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		if f, ok := constraints[refused.ConstraintName]; ok {
			return f
		}
	}
	return Fault(err)
}

// Missing returns notFound where a query found no row. Other errors pass
// through Fault.
func Missing(err error, notFound *fault.Fault) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound
	}
	return Fault(err)
}
