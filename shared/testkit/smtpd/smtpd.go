// Package smtpd is a mail server for tests that misbehaves on request.
//
// At any moment of a session it can send any reply, hang, or close the connection, a number of
// times or always. Otherwise it implements enough of RFC 5321 for a real client: EHLO, STARTTLS,
// AUTH PLAIN and LOGIN, one mail after another. It keeps accepted mails and counts those with the
// same Message-ID, so that a test can find a mail that was sent twice. It ends with the test.
package smtpd

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// testTimeout is how long a test waits before it fails.
const testTimeout = 30 * time.Second

// Verb is a moment of a session at which the server answers.
type Verb string

// The moments of a session, in their order.
const (
	Greeting Verb = "greeting"
	EHLO     Verb = "EHLO"
	HELO     Verb = "HELO"
	STARTTLS Verb = "STARTTLS"
	AUTH     Verb = "AUTH"
	MAIL     Verb = "MAIL"
	RCPT     Verb = "RCPT"
	DATA     Verb = "DATA"
	Dot      Verb = "final dot"
	RSET     Verb = "RSET"
	QUIT     Verb = "QUIT"
	// Closed is the end of a connection. It is used with Reached and Count only.
	Closed Verb = "closed"
)

// Fault replaces the server's usual answer.
type Fault struct {
	At Verb
	// Times is how often the fault happens, 0 for always.
	Times int
	// Reply is the whole reply without its line end, such as "451 4.3.0 try again later". After a
	// reply of the usual one's class, such as 251 for 250, the session goes on.
	Reply string
	// Hang sends nothing, not even Reply, until the client disconnects.
	Hang bool
	// Wait, if set, delays all of this until it is closed.
	Wait <-chan struct{}
	// Drop closes the connection, after Reply if there is one.
	Drop bool
	// Accept keeps the mail in spite of a fault at the final dot.
	Accept bool
}

// TLS is how the server offers encryption.
type TLS int

// NoTLS offers no TLS, StartTLS offers it in the session, ImplicitTLS begins with it.
const (
	NoTLS TLS = iota
	StartTLS
	ImplicitTLS
)

// Config is the server's behaviour without its faults. The zero value accepts every mail, without
// TLS and login.
type Config struct {
	TLS TLS
	// DemandTLS refuses MAIL with 530 before STARTTLS.
	DemandTLS bool
	// User, if set, must log in before MAIL, with Password.
	User, Password string
	// Mechanisms of AUTH in the answer to EHLO; empty is "PLAIN LOGIN".
	Mechanisms string
	// Extensions are further lines of that answer; nil is SIZE, 8BITMIME and SMTPUTF8.
	Extensions []string
}

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	config   Config
	tls      *tls.Config
	ca       string
	listener net.Listener
	sessions sync.WaitGroup
	ended    chan struct{} // closed by stop

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every change of what follows
	stopped    bool
	open       map[net.Conn]bool
	faults     []Fault
	reached    map[Verb]int
	deliveries []Delivery
}

// New makes a server without an address, for Serve.
func New(t testing.TB, config Config, faults ...Fault) *Server {
	t.Helper()
	s := &Server{
		config: config, ended: make(chan struct{}), changed: make(chan struct{}), open: map[net.Conn]bool{},
		reached: map[Verb]int{},
	}
	s.Script(faults...)
	if config.TLS != NoTLS {
		s.tls, s.ca = certificate(t)
	}
	t.Cleanup(s.stop)
	return s
}

// Start makes a server that listens on a free loopback port.
func Start(t testing.TB, config Config, faults ...Fault) *Server {
	t.Helper()
	s := New(t, config, faults...)
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.sessions.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.sessions.Go(func() { s.Serve(conn) })
		}
	})
	return s
}

// URL is the server's address for a client: smtp://user:password@host:port?ca=FILE, or smtps.
func (s *Server) URL() string {
	u := url.URL{Scheme: "smtp", Host: "127.0.0.1:25"}
	if s.listener != nil {
		u.Host = s.listener.Addr().String()
	}
	if s.config.User != "" {
		u.User = url.UserPassword(s.config.User, s.config.Password)
	}
	if s.config.TLS == ImplicitTLS {
		u.Scheme = "smtps"
	}
	if s.ca != "" {
		u.RawQuery = url.Values{"ca": {s.ca}}.Encode()
	}
	return u.String()
}

// Script replaces the faults that have not happened yet. Of several at one moment the first that
// is not used up happens.
func (s *Server) Script(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.Clone(faults)
}

// Wait returns all accepted mails as soon as there are n, or an error when ctx or half a minute is over.
func (s *Server) Wait(ctx context.Context, n int) ([]Delivery, error) {
	var got []Delivery
	err := s.until(ctx, func() bool {
		got = slices.Clone(s.deliveries)
		return len(got) >= n
	})
	return got, err
}

// Reached waits until sessions have come to a moment n times in all, like Wait.
func (s *Server) Reached(ctx context.Context, at Verb, n int) error {
	return s.until(ctx, func() bool { return s.reached[at] >= n })
}

// Count returns how many times sessions have come to a moment; Greeting counts the connections.
func (s *Server) Count(at Verb) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached[at]
}

func (s *Server) until(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	for {
		s.mu.Lock()
		changed, enough := s.changed, done()
		s.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change runs f under the lock and wakes those who wait.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// reach counts a moment and returns the fault scripted for it.
func (s *Server) reach(at Verb) (fault Fault, scripted bool) {
	s.change(func() {
		s.reached[at]++
		i := slices.IndexFunc(s.faults, func(f Fault) bool { return f.At == at })
		if i < 0 {
			return
		}
		fault, scripted = s.faults[i], true
		if s.faults[i].Times--; s.faults[i].Times == 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
	})
	return fault, scripted
}

// Disconnect closes all connections.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		conn.Close()
	}
}

func (s *Server) stop() {
	close(s.ended)
	if s.listener != nil {
		s.listener.Close()
	}
	s.mu.Lock()
	s.stopped = true // which closes connections that come now
	s.mu.Unlock()
	s.Disconnect()
	s.sessions.Wait()
}
