// Package bus is NATS: the connection of every service, the server that the
// all-in-one and the tests run, and the users with their permissions.
package bus

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/secret"
)

const (
	// MaxPayload holds a page of 1,000 objects, or a body of 1 MiB with its headers.
	MaxPayload     = 8 << 20
	connectTimeout = 15 * time.Second
)

// Address is where a server is and who connects.
type Address struct {
	URL string
	// Server is set for a server in the same process; the URL then does not count. It is
	// no *server.Server, so that a program that starts none does not hold its code.
	Server   nats.InProcessConnProvider
	User     string
	Password secret.Text
}

// Connect logs in and reconnects for ever after. What is published while the
// connection is away fails at once: a caller hears *unavailable* instead of waiting
// for news from a buffer.
func Connect(ctx context.Context, a Address, log *slog.Logger) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("herald-" + a.User),
		nats.UserInfo(a.User, a.Password.Reveal()),
		nats.CustomInboxPrefix(inbox(a.User)),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(200*time.Millisecond, 200*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DrainTimeout(10 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("NATS is away; reconnecting", "err", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("NATS is back") }),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			log.Error("NATS", "subject", subject, "err", err)
		}),
	}
	if a.Server != nil {
		options = append(options, nats.InProcessServer(a.Server))
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for {
		nc, err := nats.Connect(a.URL, options...)
		if err == nil {
			return nc, nil
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to NATS as %s: %w", a.User, err)
		}
	}
}
