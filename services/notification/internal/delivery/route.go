package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/smtp"
	"herald/services/notification/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/notificationfault"
	"herald/shared/retry"
)

// Route is how mails are sent: the mail server and the sender.
type Route struct {
	// From is the sender of every mail. ReplyTo is the address for answers, empty if it is From.
	From, ReplyTo string
	// relay is nil if no mail can be sent; why says the reason.
	relay *smtp.Relay
	why   error
	// sequence is that of the settings.
	sequence int64
}

// ErrNoServer is the reason why no mail can be sent while no mail server is set.
var ErrNoServer = errors.New("there is no mail server: set HERALD_SMTP_URL or PUT /admin/v1/smtp")

// NewRoute returns a route, which must be closed. It returns a fault that names the field with which no mail can be
// sent.
func NewRoute(l domain.Live) (*Route, error) {
	r := &Route{From: l.Sender.String(), ReplyTo: l.ReplyTo, sequence: l.Sequence}
	_, err := smtp.ParseMailbox(r.From)
	if err != nil {
		return nil, unusable("senderAddress", err)
	}
	if r.ReplyTo != "" {
		if _, err := smtp.ParseMailbox(r.ReplyTo); err != nil {
			return nil, unusable("replyTo", err)
		}
	}
	if r.relay, err = smtp.NewRelay(l.Address()); err != nil {
		return nil, unusable("url", err)
	}
	return r, nil
}

func unusable(field string, err error) error {
	return notificationfault.ErrSmtpInvalid.Naming(fault.Field{Path: field, Reason: err.Error()})
}

// Close closes the idle connections to the mail server.
func (r *Route) Close() {
	if r.relay != nil {
		r.relay.Close()
	}
}

func (r *Route) send(ctx context.Context, m smtp.Mail, commit func(context.Context) error) smtp.Result {
	if r.relay == nil {
		return smtp.Result{Outcome: smtp.Deferred, Reply: r.why.Error(), Log: r.why.Error(), Relay: true}
	}
	return r.relay.Send(ctx, m, commit)
}

// Reach connects to the mail server and disconnects again. It returns an error if mails cannot be sent.
func (r *Route) Reach(ctx context.Context) error {
	if r.relay == nil {
		return r.why
	}
	return r.relay.Reach(ctx)
}

// Current reads how mails are sent. With settings with which none can be sent it returns a route that says so, because
// others may be set while the process runs.
func Current(ctx context.Context, db store.Store, e domain.Environment) (*Route, error) {
	set, err := db.SMTP(ctx)
	if err != nil {
		return nil, err
	}
	live, err := set.Open(e)
	why := ErrNoServer
	switch {
	case err != nil:
		why = fmt.Errorf("the stored password of the mail server: %w: PUT /admin/v1/smtp with the password", err)
	case live.URL != "":
		r, err := NewRoute(live)
		if err == nil {
			return r, nil
		}
		why = err
	}
	return &Route{From: live.Sender.String(), ReplyTo: live.ReplyTo, why: why, sequence: live.Sequence}, nil
}

// Begin reads how mails are sent at the start. It is called before Run.
func (s *Sender) Begin(ctx context.Context) (err error) {
	s.route, err = Current(ctx, s.Store, s.Environment)
	return err
}

// Reread makes a running sender read how mails are sent.
func (s *Sender) Reread() {
	select {
	case s.Changed <- struct{}{}:
	default: // it will read anyway
	}
}

// rereadPause is the pause before how mails are sent is read again after a failure.
const rereadPause = time.Second

// watch reads how mails are sent when that may have changed, and at each tick, because a signal may be lost. It passes
// on each new route, until ctx ends.
func (s *Sender) watch(ctx context.Context, changed chan<- *Route) {
	unread := retry.Outage{
		Log: s.Log, Begins: "how mails are sent cannot be read: the last settings stay in use; trying again",
		Ends: "how mails are sent is read again", Explained: s.Outages.Explains,
	}
	tick := time.NewTicker(s.Times.Tick)
	defer tick.Stop()
	for known := s.route.sequence; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
			return
		case <-s.Changed:
		case <-tick.C:
		}
		query, cancel := context.WithTimeout(ctx, queryTime)
		r, err := Current(query, s.Store, s.Environment)
		cancel()
		if ctx.Err() != nil {
			return
		}
		note(&unread, err)
		switch {
		case err != nil:
			retry.Wait(ctx, rereadPause)
			s.Reread()
			continue
		case r.sequence == known:
			r.Close()
			continue
		}
		known = r.sequence
		select {
		case changed <- r:
		case <-ctx.Done():
			r.Close()
		}
	}
}
