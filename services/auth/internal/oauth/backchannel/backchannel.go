// Package backchannel notifies applications that a person's session has ended (OpenID Connect Back-Channel Logout 1.0).
// The notifications are in the database from the end of the session on, so that none is lost when a process ends. An
// application that is slow or away does not delay the others. An application may be notified twice if a process ends
// before it has the answer.
package backchannel

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/boot"
	"herald/shared/outbound"
	"herald/shared/postgres"
	"herald/shared/retry"
)

const (
	// workers is how many applications are notified at a time. perOrg is how many of one organization, and perHost how
	// many at the same host.
	workers, perOrg, perHost = 32, 4, 4
	// deadline bounds a request to an application with its answer.
	deadline = 5 * time.Second
	// queryTime bounds each question to the database and to projects.
	queryTime = 5 * time.Second
	// lease is how long a replica owns a claimed logout. It is longer than all time limits of a try.
	lease = 20 * time.Second
	// tick is how often the queue is read without Wake. That finds retries, and logouts that other replicas have not
	// finished.
	tick = 5 * time.Second
	// maxAnswer bounds the bytes of an answer's body. The body is not read.
	maxAnswer = 4 << 10
)

// Config is what a notifier needs.
type Config struct {
	Store    store.Store
	Upstream *upstream.Services
	Keys     *signing.Keys
	Issuer   string
	// Private is outbound.Config.Private.
	Private bool
	Now     func() time.Time
	Log     *slog.Logger
	// Outages logs outages of the database; nil for none.
	Outages *postgres.Watch
	Metrics prometheus.Registerer
}

// Notifier notifies applications of logouts. Replicas share the work.
type Notifier struct {
	Config
	http  *http.Client
	wake  chan struct{}
	count *prometheus.CounterVec
}

// Start starts a notifier with a service.
func Start(s *boot.Service, c Config) *Notifier {
	n := &Notifier{Config: c, wake: make(chan struct{}, 1),
		http: outbound.Config{
			Private: c.Private, Deadline: deadline, MaxBody: maxAnswer, MaxConnsPerHost: perHost,
		}.Client(),
		count: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "herald_logout_notifications_total",
			Help: "Notifications of applications of a logout, by result.",
		}, []string{"result"}),
	}
	// Tests run two replicas in one process. Only the metrics of the first are registered.
	_ = c.Metrics.Register(n.count)
	s.Background(n.run)
	return n
}

// Part returns what clients find by discovery. There is no check_session_iframe: browsers no longer send the cookie of
// a login from a frame of another site.
func Part() discovery.Part {
	return discovery.Part{Flags: map[string]bool{
		"backchannel_logout_supported": true, "backchannel_logout_session_supported": true,
	}}
}

// Wake makes the notifier read its queue now.
func (n *Notifier) Wake() {
	select {
	case n.wake <- struct{}{}:
	default: // another Wake is waiting already
	}
}

// run notifies applications until ctx ends. Then it waits for the requests that it has begun.
func (n *Notifier) run(ctx context.Context) {
	reading := &retry.Outage{Log: n.Log, Begins: "applications are not notified of logouts; trying again",
		Ends: "applications are notified of logouts again", Explained: n.Outages.Explains}
	every := time.NewTicker(tick)
	defer every.Stop()
	done := make(chan string, workers)
	var busy []string
	for ctx.Err() == nil {
		claims, err := n.claim(ctx, busy)
		for _, l := range claims {
			busy = append(busy, l.ClientOrgID)
			go func() {
				n.notify(context.WithoutCancel(ctx), l)
				done <- l.ClientOrgID
			}()
		}
		switch {
		case err == nil:
			reading.Worked()
		case ctx.Err() == nil:
			reading.Failed(err)
		}
		select {
		case orgID := <-done:
			busy = without(busy, orgID)
		case <-n.wake:
		case <-every.C:
		case <-ctx.Done():
		}
	}
	for range busy {
		<-done
	}
}

// claim claims logouts that are due, as many as there are free workers.
func (n *Notifier) claim(ctx context.Context, busy []string) ([]domain.Logout, error) {
	if len(busy) == workers {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	return n.Store.ClaimLogouts(ctx, store.Ask{Most: workers - len(busy), PerOrg: perOrg, Busy: busy, Lease: lease})
}
