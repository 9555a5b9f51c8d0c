// Package delivery sends what is queued: it claims notifications that are due, asks users
// and text for what each one says, and hands it to the mail relay.
//
// A claim is a lease that is renewed while its mail is under way. A notifier that dies
// gives its mails up, and one that wakes late can neither send nor record. Each mail is
// sent in a worker of its own, so one that hangs holds up nobody else; while no mail
// can be sent at all a single one is tried now and then, and the others wait.
package delivery

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/services/notification/internal/smtp"
	"herald/services/notification/internal/store"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// workers is how many mails are under way at once; the relay has a connection for each.
const workers = 8

// Times are the sender's periods.
type Times struct {
	// Lease is how long the mails of a notifier that died stay with it.
	Lease time.Duration
	// Tick is how often leases are renewed and the leases of others looked for.
	Tick time.Duration
	// Probe is the first pause between tries while no mail can be sent, MaxProbe the longest.
	Probe, MaxProbe time.Duration
	// Grace is how long mails under way may finish at the stop.
	Grace time.Duration
	// Trial is how long the relay may take up to the final dot of a mail that somebody waits for.
	Trial time.Duration
	// Spread scatters the pauses before the next tries of mails that failed together.
	Spread func(time.Duration) time.Duration
}

// UsualTimes are the periods of a running system.
func UsualTimes() Times {
	return Times{
		Lease: 15 * time.Second, Tick: 5 * time.Second, Probe: time.Second, MaxProbe: 15 * time.Second,
		Grace: 10 * time.Second, Trial: 15 * time.Second,
		Spread: func(d time.Duration) time.Duration { return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64())) },
	}
}

// Sender sends the mails of one database; any number may share it.
type Sender struct {
	Store store.Store
	Users usersv1.UsersClient
	Text  textv1.TextClient
	Relay *smtp.Relay
	// From is the sender of every mail, ReplyTo where its answers go; empty for From.
	From, ReplyTo string
	// PublicURL begins the links, without a slash at its end; Domain ends the Message-IDs.
	PublicURL, Domain string
	Now               func() time.Time
	Log               *slog.Logger
	// Mails counts the tries by outcome.
	Mails *prometheus.CounterVec
	Times Times
	// News holds a signal as soon as something was queued.
	News chan struct{}
	// Trials takes the mails that somebody waits for.
	Trials chan Trial
}

// NewCounter makes Mails.
func NewCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "herald_mails_total", Help: "Tries to send a mail, " +
		"by outcome."}, []string{"outcome"})
}

// Wake says that something was queued.
func (s *Sender) Wake() {
	select {
	case s.News <- struct{}{}:
	default: // it is woken already
	}
}

// Run sends until ctx ends. Mails under way then have Times.Grace to finish; those that
// have not come to their final dot by then are given back, the others end within
// the limits of package smtp, for only the relay's answer tells sent from uncertain.
func (s *Sender) Run(ctx context.Context) {
	defer s.Relay.Close()
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	l := loop{Sender: s, work: work, held: map[store.Hold]chan struct{}{}, done: make(chan result)}
	tick := time.NewTicker(s.Times.Tick)
	defer tick.Stop()
	next := time.NewTimer(l.dispatch(ctx))
	defer next.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-s.News:
		case t := <-s.Trials:
			l.start(t.claim, t.ended)
		case <-next.C:
		case r := <-l.done:
			l.finished(ctx, r)
		case <-l.gate.rest:
			l.gate.rest = nil
		case <-tick.C:
			l.renew(ctx)
		}
		next.Reset(l.dispatch(ctx))
	}
	for grace := time.After(s.Times.Grace); len(l.held) > 0; {
		select {
		case r := <-l.done:
			l.finished(work, r)
		case <-tick.C:
			l.renew(work)
		case <-grace:
			abandon()
		}
	}
}
