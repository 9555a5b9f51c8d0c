package smtp

import (
	"cmp"
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

// maxRead bounds the bytes that a relay may send in one session.
const maxRead = 1 << 20

// session is one connection to the mail server, ready for MAIL.
type session struct {
	client   *smtp.Client
	dialogue *dialogue
	conn     net.Conn // below TLS, for deadlines
	mails    int
	expiry   *time.Timer
}

// connect dials, greets, encrypts and logs in. Its errors concern the mail server, not one mail.
func (r *Relay) connect(ctx context.Context) (*session, error) {
	conn, err := r.dial(ctx, "tcp", net.JoinHostPort(r.host, r.port))
	if err != nil {
		return nil, private{}.explain("connecting", err)
	}
	conn = &capped{Conn: conn, left: maxRead}
	defer bind(ctx, conn)()
	client, err := r.greet(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &session{client: client, dialogue: converse(client), conn: conn}, nil
}

// greet returns a client after EHLO, TLS and AUTH. The answer to EHLO before TLS does not count,
// because it was not encrypted: the client asks again (RFC 3207, section 4.2).
func (r *Relay) greet(conn net.Conn) (*smtp.Client, error) {
	stream, name := conn, literal(conn.LocalAddr())
	if r.security == implicit {
		stream = tls.Client(conn, r.tls)
	}
	client, err := smtp.NewClient(stream, r.host)
	if err != nil {
		return nil, private{}.explain("the greeting", err)
	}
	if err := errors.Join(unasked(client.Text), client.Hello(name), unasked(client.Text)); err != nil {
		return nil, private{}.explain("EHLO", err)
	}
	offered, _ := client.Extension("STARTTLS")
	switch {
	case r.security == required && !offered:
		return nil, errors.New("the mail relay does not offer STARTTLS")
	case offered && (r.security == required || r.security == optional):
		plain := client.Text
		if err := errors.Join(client.StartTLS(r.tls), unasked(plain), unasked(client.Text)); err != nil {
			return nil, private{}.explain("STARTTLS", err)
		}
	}
	if r.user == "" {
		return client, nil
	}
	return client, r.login(client)
}

// login prefers PLAIN, which needs two round trips less than LOGIN. go-mail's own checks of the
// encryption are off, because the first line here checks it.
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
	err := cmp.Or(client.Auth(auth), unasked(client.Text))
	if reply, is := errors.AsType[*textproto.Error](err); is && reply.Code/100 == 5 {
		return private{}.refusal("the mail relay refused the user name or password (%s)", reply)
	}
	if err != nil {
		return private{}.explain("AUTH", err)
	}
	return nil
}

// usable reports whether a session from the pool still answers.
func (s *session) usable(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, resetTime)
	defer cancel()
	release := bind(ctx, s.conn)
	err := cmp.Or(s.client.Reset(), s.dialogue.check())
	return release() && err == nil
}

// quit ends a session with QUIT and ignores the reply.
func (s *session) quit() {
	_ = s.conn.SetDeadline(time.Now().Add(quitTime))
	_ = s.client.Quit()
	s.conn.Close()
}

// bind makes reads and writes on conn fail when ctx ends, until release is called. release returns true if ctx had
// not ended before.
func bind(ctx context.Context, conn net.Conn) (release func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}

// literal returns our name in EHLO: an address literal (RFC 5321, section 4.1.3), because a relay
// cannot look up the name of a container.
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

// capped is a connection that fails after maxRead bytes.
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
