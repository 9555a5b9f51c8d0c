package rpc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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
	services sync.Map // of *retry.Outage, by the service's name
}

// noted records the result of a request that was sent at the given time.
func (s *silent) noted(service string, sent time.Time, err error) {
	known, failed := s.services.Load(service)
	switch waited := time.Since(sent); {
	case err == nil && failed:
		known.(*retry.Outage).Worked()
	case waited >= silence && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)):
		if !failed {
			known, _ = s.services.LoadOrStore(service, &retry.Outage{
				Log: s.log.With("asked", service), Begins: "a service does not answer", Ends: "a service answers again",
			})
		}
		known.(*retry.Outage).FailedSince(sent, err)
	}
}
