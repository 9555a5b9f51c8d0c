// Package delivery sends queued mails: it claims notifications that are due, asks users and text for their contents,
// and sends them to the mail server.
//
// A claim is a lease that is renewed while its mail is being sent. If a notifier dies, others take
// over its mails when the leases have run out. A notifier that was stopped for longer than its
// lease can neither send nor record. Each mail has a worker of its own, so a slow one does not
// delay others. While no mail can be sent at all, one is tried from time to time.
//
// If the mail server does not answer the final dot of a mail, the mail may have been delivered. It is sent once more.
// The cause is the mail server and not the mail, so all sending pauses until the mail server answers the final dot of
// another mail. The outcome of a mail is kept in memory until it is written to the database or the process ends.
package delivery

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/postgres"
	"herald/shared/retry"
)

// workers is how many mails are sent at once. Each has a connection to the mail server.
const workers = 8

// Times are the sender's time limits and intervals.
type Times struct {
	// Lease is the time after which other notifiers take over the mails of a notifier that died.
	Lease time.Duration
	// Tick is how often leases are renewed and expired leases are looked for.
	Tick time.Duration
	// Probe is the first pause between tries while no mail can be sent, MaxProbe the longest.
	Probe, MaxProbe time.Duration
	// Doubt is the pause between tries while the mail server does not answer final dots.
	Doubt time.Duration
	// Grace is how long mails that are being sent may take to finish at the stop.
	Grace time.Duration
	// Record is how long the sender then still tries to record outcomes if the database cannot be reached.
	Record time.Duration
	// TestMail is how long the mail server may take, up to the final dot, for a mail that somebody waits for.
	TestMail time.Duration
	// Spread varies the pauses before the next tries, so that mails that failed together are not
	// tried together again.
	Spread func(time.Duration) time.Duration
}

// UsualTimes returns the Times of a running system.
func UsualTimes() Times {
	return Times{
		Lease: 15 * time.Second, Tick: 5 * time.Second, Probe: time.Second, MaxProbe: 8 * time.Second,
		Doubt: time.Minute, Grace: 10 * time.Second, Record: 30 * time.Second, TestMail: 15 * time.Second,
		Spread: func(d time.Duration) time.Duration { return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64())) },
	}
}

// Sender sends the mails of one database, which any number of senders may share.
type Sender struct {
	Store store.Store
	Users usersv1.InternalClient
	Text  textv1.TextClient
	// Environment has the settings that win over those of the API.
	Environment domain.Environment
	// PublicURL is the beginning of links, without a slash at its end. Domain is the end of
	// Message-IDs.
	PublicURL, Domain string
	Now               func() time.Time
	Log               *slog.Logger
	// Outages logs outages of the database, so the sender does not log them again.
	Outages *postgres.Watch
	// Mails counts tries by outcome.
	Mails *prometheus.CounterVec
	Times Times
	// Queued has a buffered signal after something was queued.
	Queued chan struct{}
	// TestMails receives the mails that somebody waits for.
	TestMails chan TestMail
	// Changed has a buffered signal after how mails are sent may have changed.
	Changed chan struct{}
	// route is how mails are sent at the start.
	route   *Route
	trouble trouble
}

// NewCounter returns a counter for Mails.
func NewCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "herald_mails_total", Help: "Tries to send a mail, " +
		"by outcome."}, []string{"outcome"})
}

// Wake makes a running sender query the queue.
func (s *Sender) Wake() {
	select {
	case s.Queued <- struct{}{}:
	default: // it is woken already
	}
}

// Run sends until ctx ends. Mails that are being sent then have Times.Grace to finish. After that, a mail whose final
// dot was not sent yet is given back. A mail whose final dot was sent waits for the mail server's answer, because
// without it the outcome is uncertain. Package smtp limits that time.
func (s *Sender) Run(ctx context.Context) {
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	l := loop{
		Sender: s, work: work, held: map[store.Hold]held{}, done: make(chan result),
		looked: make(chan error, 1), // so that the last one need not be taken
		route:  s.route,
		reading: &retry.Outage{
			Log: s.Log, Begins: "mails wait: the queue cannot be read; trying again",
			Ends: "the queue of mails is read again", Explained: s.Outages.Explains,
		},
		renewing: &retry.Outage{
			Log: s.Log, Begins: "leases of mails under way are not renewed; trying again",
			Ends: "leases of mails under way are renewed again", Explained: s.Outages.Explains,
		},
		blocked: &retry.Outage{
			Log: s.Log, Begins: "no mail can be sent; trying again", Ends: "mails are sent again",
			Explained: func(error) bool { return s.Outages.Err() != nil }, // users and text need the database, too
		},
		postponed: &retry.Outage{
			Log: s.Log, Begins: "the mail relay refuses mails for now; trying again",
			Ends: "the mail relay takes mails again",
		},
	}
	defer func() { l.route.Close() }()
	routes := make(chan *Route)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { s.watch(ctx, routes) })
	tick := time.NewTicker(s.Times.Tick)
	defer tick.Stop()
	next := time.NewTimer(l.dispatch(ctx))
	defer next.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-s.Queued:
		case t := <-s.TestMails:
			l.start(t.claim, t.ended, cmp.Or(t.route, l.route))
		case r := <-routes:
			l.use(r)
		case <-next.C:
		case r := <-l.done:
			l.finished(r)
		case <-l.gate.rest:
			l.gate.rest = nil
		case <-l.gate.look:
			l.look()
		case err := <-l.looked:
			l.gate.looked(err, s.Times)
		case <-tick.C:
			l.renew(ctx)
		}
		next.Reset(l.dispatch(ctx))
	}
	l.finish(tick.C, abandon)
}

// finish waits for the mails that are being sent. After Times.Grace it calls abandon.
func (l *loop) finish(tick <-chan time.Time, abandon func()) {
	for grace := time.After(l.Times.Grace); len(l.held) > 0; {
		select {
		case r := <-l.done:
			l.finished(r)
		case <-tick:
			l.renew(l.work)
		case <-grace:
			abandon()
		}
	}
}
