package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/shared/fault"
)

// Fault turns a database error into a fault. The fault is *unavailable* if the server cannot be reached or has ended
// a deadlock. Its cause is also fault.ErrUnsure if the statement may have been executed. The fault is *invalid* with
// the cause fault.ErrUnstorable for text that Postgres does not store (NUL, invalid UTF-8). It is ErrQuotaExceeded for
// a row that a quota refuses. An exceeded deadline stays one, and is marked as that of a statement. Other errors are
// returned unchanged.
func Fault(err error) error {
	if err == nil || isFault(err) || errors.Is(err, errSlow) {
		return err
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch s := stateOf(refused.Code); {
		case refused.Code == quotaExceeded:
			return fault.ErrQuotaExceeded.Say("%s", refused.Message)
		case refused.Code == "22021" || refused.Code == "22P05": // the latter in JSON
			return fault.ErrInvalidArgument.Say("A text holds a character that cannot be stored, such as NUL").
				Because(fmt.Errorf("%w: %w", fault.ErrUnstorable, err))
		case s.unsure:
			return away(fmt.Errorf("%w: %w", fault.ErrUnsure, err))
		case s.passes:
			return away(err)
		}
		return err
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return away(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errSlow, err)
	}
	if pgconn.SafeToRetry(err) { // nothing was sent
		return away(err)
	}
	if _, network := errors.AsType[net.Error](err); network || errors.Is(err, io.ErrUnexpectedEOF) {
		return away(fmt.Errorf("%w: %w", fault.ErrUnsure, err))
	}
	return err
}

func isFault(err error) bool {
	_, ok := errors.AsType[*fault.Fault](err)
	return ok
}

var (
	// errAway is in the chain of every fault that comes from an unavailable database.
	errAway = errors.New("database")
	// errSlow is in the chain of every error of a statement whose deadline is exceeded.
	errSlow = errors.New("database")
)

func away(err error) error {
	return fault.ErrUnavailable.After(time.Second).Because(fmt.Errorf("%w: %w", errAway, err))
}

// Named returns the fault for the constraint that was violated, for example because a name is taken or a parent is
// missing. For other errors it returns Fault(err).
func Named(err error, constraints map[string]*fault.Fault) error {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		if f, ok := constraints[refused.ConstraintName]; ok {
			return f
		}
	}
	return Fault(err)
}

// Missing returns notFound when a query found no row. For other errors it returns Fault(err).
func Missing(err, notFound error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound
	}
	return Fault(err)
}
