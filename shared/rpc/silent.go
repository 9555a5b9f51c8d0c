package rpc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/retry"
)

// silence is how long a request waits for an answer before the log says that the service does not answer. Callers set
// shorter time limits for many requests.
const silence = 2 * time.Second

// silent logs when a service does not answer requests, and when it answers again.
type silent struct {
	log      *slog.Logger
	services sync.Map // of *asked, by the service's name
}

// asked is a service that has failed before.
type asked struct {
	retry.Outage
	// absent is since when no replica of the service listens, in nanoseconds; 0 while one does.
	absent atomic.Int64
}

// noted records the result of a request that was sent at the given time and could wait for limit. One that failed much
// later says nothing about the service: this process itself was frozen.
func (s *silent) noted(service string, sent time.Time, limit time.Duration, err error) {
	known, failed := s.services.Load(service)
	if err == nil {
		if failed {
			known.(*asked).absent.Store(0)
			known.(*asked).Worked()
		}
		return
	}
	missing := errors.Is(err, nats.ErrNoResponders)
	timeout := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	if waited := time.Since(sent); !missing && (!timeout || waited < silence || waited > limit+silence) {
		return
	}
	if !failed {
		known, _ = s.services.LoadOrStore(service, &asked{Outage: retry.Outage{
			Log: s.log.With("asked", service), Begins: "a service does not answer", Ends: "a service answers again",
		}})
	}
	if missing {
		known.(*asked).missing(sent, err)
	} else {
		known.(*asked).FailedSince(sent, err)
	}
}

// missing records that no replica listened. It is logged if none does for a while, because all are missing for a moment
// when NATS or the only replica starts again.
func (a *asked) missing(sent time.Time, err error) {
	a.absent.CompareAndSwap(0, sent.UnixNano())
	if since := time.Unix(0, a.absent.Load()); sent.Sub(since) >= silence {
		a.FailedSince(since, err)
	}
}
