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
	// beat is the time between two rounds of Later. The work of a round slows down all requests alike, so that nobody
	// can measure the work for one mail.
	beat = 250 * time.Millisecond
	// mostAsked is how many requests wait for a round. More are refused.
	mostAsked = 1024
	// keptAsked is how long a request is tried again while users is away.
	keptAsked = 10 * time.Minute
	// endTime bounds the last round, at the stop.
	endTime = 5 * time.Second
)

// Later requests new mails from the service users after the page was answered. A mail to an existing user takes longer
// than a request for an unknown user, and the time of the answer must not show whether the user exists. Each client has
// a queue of its own, and the queues take turns.
type Later struct {
	users usersv1.InternalClient
	now   func() time.Time
	log   *slog.Logger

	mu    sync.Mutex
	asked *queue.Lines[asked]
}

// asked is a request for a mail to a user, who is given by id or by login name.
type asked struct {
	kind                      kind
	userID, loginName, client string
	since                     time.Time
}

// NewLater returns a Later, whose method Run does the work.
func NewLater(users usersv1.InternalClient, now func() time.Time, log *slog.Logger) *Later {
	return &Later{users: users, now: now, log: log, asked: queue.NewLines[asked](mostAsked)}
}

// AskReset requests the mail for a new password for a login name. It reports whether there was room for the request.
func (l *Later) AskReset(loginName, client string) bool {
	return l.ask(asked{kind: kind(mail.PasswordReset), loginName: loginName, client: client})
}

// Ask requests a mail of a kind to a user. It reports whether there was room for the request.
func (l *Later) Ask(k mail.Kind, userID, client string) bool {
	return l.ask(asked{kind: kind(k), userID: userID, client: client})
}

// ask adds a request. It reports whether there was room for it.
func (l *Later) ask(a asked) bool {
	a.since = l.now()
	left, full := l.add(a)
	if full && left.client != a.client {
		l.log.Warn("a mail that was asked for is not requested, because too many are")
	}
	return !full || left.client != a.client
}

// add adds a request. If the queues are full, it returns the request that was dropped.
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

// Run sends the requests to users until ctx ends, and then the remaining ones.
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

// round sends the requests that were made before it began. It sends equal requests once. If users is away, the rest
// waits for the next round.
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

// request sends a request to users. It reports whether users answered.
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
