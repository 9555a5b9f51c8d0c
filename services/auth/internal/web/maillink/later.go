package maillink

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/queue"
)

const (
	// beat is the time between two rounds of Later. The work of a round falls on whatever is answered
	// meanwhile, so that no request after it tells by its time what the work was.
	beat = 250 * time.Millisecond
	// mostAsked is how many requests wait for a round. More are refused.
	mostAsked = 1024
	// keptAsked is how long a request is tried again while users is away.
	keptAsked = 10 * time.Minute
	// endTime bounds the last round, at the stop.
	endTime = 5 * time.Second
)

// Later asks users for new mails after the page was answered: a user who gets one costs more than a user
// who does not exist, and the time of the answer must not tell which it was. The requests of one client wait
// in a line, and the lines take turns.
type Later struct {
	users usersv1.InternalClient
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	asked *queue.Lines[asked]
}

// asked is a request of a mail for a user, or for whoever has a login name.
type asked struct {
	kind                      kind
	userID, loginName, client string
	since                     time.Time
}

// NewLater returns a Later, whose method Run does the work.
func NewLater(users usersv1.InternalClient, now func() time.Time, log *slog.Logger) *Later {
	return &Later{users: users, now: now, log: log, asked: queue.NewLines[asked](mostAsked)}
}

// AskReset reports whether there was room for a client's request of a mail by which whoever has a login name sets a new
// password.
func (l *Later) AskReset(loginName, client string) bool {
	return l.ask(asked{kind: kind(mail.PasswordReset), loginName: loginName, client: client})
}

// Ask reports whether there was room for a client's request of a mail of a kind to a user.
func (l *Later) Ask(k mail.Kind, userID, client string) bool {
	return l.ask(asked{kind: kind(k), userID: userID, client: client})
}

// ask reports whether there was room for a client's request of a mail.
func (l *Later) ask(a asked) bool {
	a.since = l.now()
	left, full := l.add(a)
	if full && left.client != a.client {
		l.log.Warn("a mail that was asked for is not requested, because too many are")
	}
	return !full || left.client != a.client
}

// add returns the request for which there is no room any more, and whether there is one.
func (l *Later) add(a asked) (left asked, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked.Add(a.client, a)
}

func (l *Later) next() asked {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, _ := l.asked.Next(func(string) bool { return true })
	return a
}

// waiting returns how many requests wait for a round.
func (l *Later) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked.Len()
}

// Run works until ctx ends, and then does what is left.
func (l *Later) Run(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			l.round(ctx)
		case <-ctx.Done():
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	l.round(ctx)
	l.lost(ctx, l.waiting())
}

// round passes on what was asked before it began, each mail once. If users is away the rest waits for
// the next round.
func (l *Later) round(ctx context.Context) {
	done := map[asked]bool{}
	away, lost := false, 0
	for range l.waiting() {
		a := l.next()
		one := asked{kind: a.kind, userID: a.userID, loginName: a.loginName}
		if done[one] {
			continue
		}
		if !away {
			away = !l.request(ctx, a)
		}
		if away && l.now().Sub(a.since) >= keptAsked {
			lost++
		} else if away {
			if _, full := l.add(a); full {
				lost++
			}
		}
		done[one] = true
	}
	l.lost(ctx, lost)
}

// lost logs how many requests are given up, because users was away too long.
func (l *Later) lost(ctx context.Context, count int) {
	if count > 0 {
		l.log.WarnContext(ctx, "mails that were asked for are not requested, because users is away", "count", count)
	}
}

// request reports whether users answered.
func (l *Later) request(ctx context.Context, a asked) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := l.users.RequestCode(ctx, &usersv1.RequestCodeRequest{
		Kind: string(a.kind), UserId: a.userID, LoginName: a.loginName,
	})
	if err == nil {
		return true
	}
	switch fault.From(err).Code {
	case fault.Unavailable, fault.Deadline, fault.Exhausted:
		return false
	}
	l.log.ErrorContext(ctx, "a mail that was asked for could not be requested", "kind", a.kind, "err", err)
	return true
}
