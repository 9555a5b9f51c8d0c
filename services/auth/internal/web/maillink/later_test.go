package maillink

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// absent is a users that is away.
type absent struct{ usersv1.InternalClient }

func (absent) RequestCode(
	context.Context, *usersv1.RequestCodeRequest, ...grpc.CallOption,
) (*usersv1.RequestCodeResponse, error) {
	return nil, fault.ErrUnavailable
}

// While users is away a request is kept for ten minutes. What is given up then, or at the stop, is logged.
func TestAbandonedRequestsForMailsAreLogged(t *testing.T) {
	t.Parallel()
	now, log := time.Now(), new(testkit.Lines)
	l := NewLater(absent{}, func() time.Time { return now }, slog.New(slog.NewTextHandler(log, nil)))
	logged := func(count, times int) {
		t.Helper()
		if n := strings.Count(log.String(), fmt.Sprint("count=", count, "\n")); n != times {
			t.Errorf("%d requests are lost %d times, want %d: %s", count, n, times, log)
		}
	}
	l.Ask("init", "u1", "client")
	l.Ask("init", "u2", "client")
	now = now.Add(keptAsked - 1)
	l.round(t.Context())
	l.Ask("init", "u3", "client")
	logged(2, 0)
	now = now.Add(1)
	l.round(t.Context())
	logged(2, 1)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	l.Run(stopped)
	logged(1, 1)
}

// A client who asks for more than there is room for takes no other client's room, and others' mails wait for one
// of its requests at most.
func TestClientsTakeTurnsWithRequestsForMails(t *testing.T) {
	t.Parallel()
	l := NewLater(absent{}, time.Now, slog.New(slog.DiscardHandler))
	for n := range mostAsked {
		if !l.Ask("init", fmt.Sprint("u", n), "flood") {
			t.Fatalf("request %d is refused", n)
		}
	}
	if l.Ask("init", "one more", "flood") {
		t.Error("there is room for one more")
	}
	if !l.Ask("init", "mini", "other") || l.waiting() != mostAsked {
		t.Error("a flood took another client's room")
	}
	if first, second := l.next(), l.next(); first.userID != "u0" || second.userID != "mini" {
		t.Errorf("%s and %s are first", first.userID, second.userID)
	}
}
