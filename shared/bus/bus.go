// Package bus connects services over NATS. It has the connections, the embedded server of the all-in-one and of
// tests, and the NATS users with their permissions.
package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/retry"
	"herald/shared/secret"
)

const (
	// MaxPayload is large enough for a page of 1,000 objects, and for a body of 1 MiB with its headers.
	MaxPayload     = 8 << 20
	connectTimeout = 15 * time.Second
	// PingInterval is how often clients and servers send each other a ping. With it a frozen process gets no more
	// requests after 4 to 6 s. deploy/nats/nats.conf has the same value.
	PingInterval = 2 * time.Second
	// MaxPings is how many pings may stay unanswered before the connection is closed.
	MaxPings = 2
)

// Address is the address of a NATS server with the login of a user.
type Address struct {
	URL string
	// Server is a server in the same process. If it is set, it is used instead of the URL. It is an interface, so
	// that a program that starts no server does not link the server's code.
	Server   nats.InProcessConnProvider
	User     string
	Password secret.Text
	// Others are passwords to try when Password is refused. They are derived from the other master keys.
	Others []secret.Text
	// CAFile is a file with the certificates of who signs that of the server. If it is set, the connection uses TLS.
	CAFile string
}

// As returns the address with the login of another user.
func (a Address) As(user string, keys secret.Keys) Address {
	a.User, a.Others = user, nil
	for _, k := range keys.Each() {
		a.Others = append(a.Others, Password(k, user))
	}
	a.Password, a.Others = a.Others[0], a.Others[1:]
	return a
}

// login returns a function that returns the next password at each try, because the server may restart with another
// master key while the client is connected.
func (a Address) login() nats.UserInfoCB {
	passwords := append([]secret.Text{a.Password}, a.Others...)
	var tries atomic.Uint32
	return func() (string, string) {
		return a.User, passwords[int(tries.Add(1)-1)%len(passwords)].Reveal()
	}
}

// Connect logs in, and reconnects without limit when the connection is lost. Publishing without a connection fails at
// once, so that callers get *unavailable* and need not wait.
func Connect(ctx context.Context, a Address, log *slog.Logger) (*nats.Conn, error) {
	connection := &retry.Outage{Log: log, Begins: "NATS is away; reconnecting", Ends: "NATS is back"}
	if a.Server != nil { // whoever runs the server logs its outage once for all connections
		connection.Log = slog.New(slog.DiscardHandler)
	}
	options := []nats.Option{
		nats.Name("herald-" + a.User),
		nats.UserInfoHandler(a.login()),
		nats.IgnoreAuthErrorAbort(), // do not give up after a password was refused twice
		nats.CustomInboxPrefix(inbox(a.User)),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(200*time.Millisecond, 200*time.Millisecond),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(PingInterval),
		nats.MaxPingsOutstanding(MaxPings),
		nats.DrainTimeout(10 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			since := time.Now()
			if errors.Is(err, nats.ErrStaleConnection) { // the first ping without an answer
				since = since.Add(-MaxPings * PingInterval)
			}
			if err != nil {
				connection.FailedSince(since, err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { connection.Worked() }),
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
	} else if a.CAFile != "" {
		options = append(options, nats.RootCAs(a.CAFile))
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for logged := false; ; logged = true {
		nc, err := nats.Connect(a.URL, options...)
		if err == nil {
			return nc, nil
		}
		if errors.Is(err, nats.ErrAuthorization) {
			err = fmt.Errorf("%w: the master key of this process is not that of the NATS server", err)
		}
		if !logged {
			log.Warn("waiting for NATS", "err", err)
		}
		if !retry.Wait(ctx, 300*time.Millisecond) {
			return nil, fmt.Errorf("connect to NATS as %s: %w", a.User, err)
		}
	}
}

// The reasons why a process is not ready.
var (
	errAway   = errors.New("not connected to NATS")
	errSilent = errors.New("NATS does not answer")
)

// answerLimit is how long NATS may take to answer a ping of Ready.
const answerLimit = time.Second

// Ready returns an error unless NATS answers a ping. A frozen server keeps the connection for some seconds.
func Ready(ctx context.Context, conn *nats.Conn) error {
	if !conn.IsConnected() {
		return errAway
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if conn.FlushWithContext(ctx) != nil {
		return errSilent
	}
	return nil
}

// IsOutage reports whether an error follows from an outage of NATS that is already in the log. Connect or whoever runs
// the server logs the outage.
func IsOutage(err error) bool {
	return errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrReconnectBufExceeded) ||
		errors.Is(err, nats.ErrConnectionReconnecting)
}
