package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// maxHeard bounds what a relay may say in one session, in bytes.
const maxHeard = 1 << 20

// session is one connection to the relay, ready for MAIL.
type session struct {
	client *smtp.Client
	conn   net.Conn // below TLS, for deadlines
	mails  int
	expiry *time.Timer
}

// connect dials, greets, encrypts and logs in. Every error of it is the relay's as a whole.
func (r *Relay) connect(ctx context.Context) (*session, error) {
	conn, err := r.dial(ctx, "tcp", net.JoinHostPort(r.host, r.port))
	if err != nil {
		return nil, explain("connecting", err)
	}
	conn = &capped{Conn: conn, left: maxHeard}
	defer bind(ctx, conn)()
	client, err := r.greet(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &session{client: client, conn: conn}, nil
}

// greet returns a client past EHLO, TLS and AUTH. Whatever a relay says before TLS is said again
// after it (RFC 3207, section 4.2), so nothing of the first EHLO is believed then.
func (r *Relay) greet(conn net.Conn) (*smtp.Client, error) {
	stream, name := conn, literal(conn.LocalAddr())
	if r.security == implicit {
		stream = tls.Client(conn, r.tls)
	}
	client, err := smtp.NewClient(stream, r.host)
	if err != nil {
		return nil, explain("the greeting", err)
	}
	if err := client.Hello(name); err != nil {
		return nil, explain("EHLO", err)
	}
	offered, _ := client.Extension("STARTTLS")
	switch {
	case r.security == required && !offered:
		return nil, errors.New("the mail relay does not offer STARTTLS")
	case offered && (r.security == required || r.security == optional):
		if err := client.StartTLS(r.tls); err != nil {
			return nil, explain("STARTTLS", err)
		}
	}
	if r.user == "" {
		return client, nil
	}
	return client, r.login(client)
}

// login prefers PLAIN to LOGIN, which saves two round trips. The checks of go-mail's own on who may
// see the password are off: ours is the first line.
func (r *Relay) login(client *smtp.Client) error {
	if _, encrypted := client.TLSConnectionState(); !encrypted && !r.loopback() {
		return errors.New("the mail relay offers no encryption, and the password is not sent without")
	}
	_, offered := client.Extension("AUTH")
	mechanisms := strings.Fields(offered)
	var auth smtp.Auth
	switch {
	case slices.Contains(mechanisms, "PLAIN"):
		auth = smtp.PlainAuth("", r.user, r.password.Reveal(), r.host, true)
	case slices.Contains(mechanisms, "LOGIN"):
		auth = smtp.LoginAuth(r.user, r.password.Reveal(), r.host, true)
	default:
		return errors.New("the mail relay offers neither AUTH PLAIN nor AUTH LOGIN")
	}
	err := client.Auth(auth)
	if reply, is := errors.AsType[*textproto.Error](err); is && reply.Code/100 == 5 {
		return refusal("the mail relay refused the user name or password (%s)", reply)
	}
	if err != nil {
		return explain("AUTH", err)
	}
	return nil
}

// usable asks whether a session from the pool still answers.
func (s *session) usable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, resetTime)
	defer cancel()
	release := bind(ctx, s.conn)
	err := s.client.Reset()
	return release() && err == nil
}

// quit ends a session politely; what the relay says to it changes nothing.
func (s *session) quit() {
	_ = s.conn.SetDeadline(time.Now().Add(quitTime))
	_ = s.client.Quit()
	s.conn.Close()
}

// bind makes the end of ctx end every read and write on conn until release, which reports whether
// that has not happened.
func bind(ctx context.Context, conn net.Conn) (release func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}

// literal is our name in EHLO: the address literal of RFC 5321, section 4.1.3, since a container
// has no name that a relay could look up.
func literal(local net.Addr) string {
	address, is := local.(*net.TCPAddr)
	switch {
	case !is:
		return "localhost"
	case address.IP.To4() == nil:
		return "[IPv6:" + address.IP.String() + "]"
	}
	return "[" + address.IP.String() + "]"
}

// capped ends a connection on which too much is said.
type capped struct {
	net.Conn
	left int
}

func (c *capped) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("the mail relay says too much")
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}
