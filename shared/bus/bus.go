// Package bus connects services over NATS: their connections, the embedded server of the
// all-in-one and of tests, and the NATS users with their permissions.
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
	// MaxPayload is enough for a page of 1,000 objects and for a body of 1 MiB with its headers.
	MaxPayload     = 8 << 20
	connectTimeout = 15 * time.Second
)

// Address is where a server is and who connects.
type Address struct {
	URL string
	// Server is a server in the same process, which is used instead of the URL. It is an
	// interface, so that a program that starts no server does not link its code.
	Server   nats.InProcessConnProvider
	User     string
	Password secret.Text
}

// Connect logs in, and reconnects without limit when the connection breaks. Publishing without
// a connection fails at once, so that callers get *unavailable* instead of waiting.
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
