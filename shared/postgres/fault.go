package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/shared/fault"
)

// Fault gives a database error the fault that it stands for: no rows, NUL in a text
// and the like are for the store to name; a server that is away is *unavailable*,
// and everything else stays what it is.
func Fault(err error) error {
	if err == nil || isFault(err) {
		return err
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		// Classes 08 connection, 53 resources, 57 operator intervention (Postgres, appendix A).
		for _, class := range []string{"08", "53", "57P"} {
			if strings.HasPrefix(refused.Code, class) {
				return away(err)
			}
		}
		return err
	}
	_, refusedConnect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	if !errors.Is(err, context.DeadlineExceeded) && (refusedConnect || network || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)) {
		return away(err)
	}
	return err
}

func isFault(err error) bool {
	_, ok := errors.AsType[*fault.Fault](err)
	return ok
}

func away(err error) error { return fault.ErrUnavailable.After(time.Second).Because(err) }

// Named answers with the fault that a table gives the constraint behind err: taken
// names, missing parents. Other errors pass through Fault.
func Named(err error, constraints map[string]*fault.Fault) error {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		if f, ok := constraints[refused.ConstraintName]; ok {
			return f
		}
	}
	return Fault(err)
}

// Missing answers with notFound where a query found no row. Other errors pass
// through Fault.
func Missing(err error, notFound *fault.Fault) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound
	}
	return Fault(err)
}
