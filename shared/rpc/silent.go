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

// silence is how long a request waits in vain before the log says that the service does not answer. Callers choose
// shorter times for many requests.
const silence = 2 * time.Second

// silent logs, for each service that requests go to, when it does not answer and when it does again.
type silent struct {
	log      *slog.Logger
	services sync.Map // by the name, of *retry.Outage
}

// noted notes how a request that was sent at a time has ended.
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
