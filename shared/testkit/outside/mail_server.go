// Package outside has what tests need of the world around Herald: a mail server, an identity provider and a browser.
// The two servers answer correctly, and a test can script other answers to simulate faults and attacks. All end with
// the test.
package outside

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"herald/shared/testkit"
)

// testTimeout is how long a test waits before it fails.
const testTimeout = 30 * time.Second

// Verb is a step of a session at which the server answers.
type Verb string

// The steps of a session, in order.
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
	// Closed is the end of a connection, Unasked what a fault sends before the client asks. They are only for Reached
	// and Count.
	Closed  Verb = "closed"
	Unasked Verb = "unasked"
)

// MailFault replaces the server's usual answer.
type MailFault struct {
	At Verb
	// Times is how often the fault happens. 0 means always.
	Times int
	// Reply is the whole reply without its line end, such as "451 4.3.0 try again later". The session continues if
	// the reply has the same class as the usual one, such as 251 instead of 250.
	Reply string
	// Unasked is sent after Reply, on its own, before the client asks for it. Reached and Count count it as Unasked.
	Unasked string
	// Hang sends nothing, not even Reply, until the client disconnects.
	Hang bool
	// Wait, if set, delays the fault until the channel is closed.
	Wait <-chan struct{}
	// Drop closes the connection, after Reply if there is one.
	Drop bool
	// Accept keeps the mail although there is a fault at the final dot.
	Accept bool
}

// TLS is how the server offers encryption.
type TLS int

// NoTLS offers no TLS. StartTLS offers it in the session. ImplicitTLS uses it from the start.
const (
	NoTLS TLS = iota
	StartTLS
	ImplicitTLS
)

// MailConfig is the server's behaviour without faults. The zero value accepts every mail, without TLS and login.
type MailConfig struct {
	TLS TLS
	// DemandTLS refuses MAIL with 530 before STARTTLS.
	DemandTLS bool
	// User, if not empty, must log in with Password before MAIL.
	User, Password string
	// Mechanisms are the mechanisms of AUTH in the answer to EHLO. Empty means "PLAIN LOGIN".
	Mechanisms string
	// Extensions are the other lines of that answer. Nil means SIZE, 8BITMIME and SMTPUTF8.
	Extensions []string
	// Host is the address to listen on. Empty means the loopback.
	Host string
}

// MailServer is a running mail server. Its methods may be called from any goroutine.
//
// At any step of a session it can send any reply, hang, or close the connection, a number of times or always.
// Otherwise it implements enough of RFC 5321 for a real client: EHLO, STARTTLS, AUTH PLAIN and LOGIN, and several
// mails in one session. It keeps accepted mails and counts mails with the same Message-ID, so that a test can detect
// a mail that was sent twice.
type MailServer struct {
	config   MailConfig
	tls      *tls.Config
	ca       string
	listener net.Listener
	sessions sync.WaitGroup
	ended    chan struct{} // closed by stop

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every change of what follows
	stopped    bool
	open       map[net.Conn]bool
	faults     []MailFault
	reached    map[Verb]int
	deliveries []Delivery
}

// NewMailServer returns a server that does not listen. Use Serve with it.
func NewMailServer(t testing.TB, config MailConfig, faults ...MailFault) *MailServer {
	t.Helper()
	s := &MailServer{
		config: config, ended: make(chan struct{}), changed: make(chan struct{}), open: map[net.Conn]bool{},
		reached: map[Verb]int{},
	}
	s.Script(faults...)
	if config.TLS != NoTLS {
		c := testkit.NewServedCertificate(t, t.TempDir(), time.Now().Add(24*time.Hour))
		s.tls, s.ca = c.Serving, c.Cert
	}
	t.Cleanup(s.stop)
	return s
}

// StartMailServer returns a server that listens on a free port.
func StartMailServer(t testing.TB, config MailConfig, faults ...MailFault) *MailServer {
	t.Helper()
	s := NewMailServer(t, config, faults...)
	var err error
	if s.listener, err = net.Listen("tcp", net.JoinHostPort(cmp.Or(config.Host, "127.0.0.1"), "0")); err != nil {
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
func (s *MailServer) URL() string {
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

// Script replaces the faults that have not happened yet. If there are several faults for one step, they happen in
// order.
func (s *MailServer) Script(faults ...MailFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.Clone(faults)
}

// Wait returns all accepted mails when there are at least n. It returns an error when ctx ends or after half a
// minute.
func (s *MailServer) Wait(ctx context.Context, n int) ([]Delivery, error) {
	var got []Delivery
	err := s.until(ctx, func() bool {
		got = slices.Clone(s.deliveries)
		return len(got) >= n
	})
	return got, err
}

// Reached waits until sessions have reached a step n times in total. It has the same time limits as Wait.
func (s *MailServer) Reached(ctx context.Context, at Verb, n int) error {
	return s.until(ctx, func() bool { return s.reached[at] >= n })
}

// Count returns how many times sessions have reached a step. For Greeting this is the number of connections.
func (s *MailServer) Count(at Verb) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached[at]
}

func (s *MailServer) until(ctx context.Context, done func() bool) error {
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

// change runs f under the lock and wakes all that wait for a change.
func (s *MailServer) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// reach counts that a session has reached a step, and returns the scripted fault for it.
func (s *MailServer) reach(at Verb) (fault MailFault, scripted bool) {
	s.change(func() {
		s.reached[at]++
		i := slices.IndexFunc(s.faults, func(f MailFault) bool { return f.At == at })
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
func (s *MailServer) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		conn.Close()
	}
}

func (s *MailServer) stop() {
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
