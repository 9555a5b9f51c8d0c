package inbox

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
	"golang.org/x/net/netutil"
)

// ServeSMTP accepts mails on a loopback address until ctx ends and then closes the listener. It has
// no login and no TLS.
func (in *Inbox) ServeSMTP(ctx context.Context, l net.Listener) error {
	if address, ok := l.Addr().(*net.TCPAddr); !ok || !address.IP.IsLoopback() {
		l.Close()
		return fmt.Errorf("inbox: %s is not a loopback address", l.Addr())
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		return &session{inbox: in}, nil
	}))
	server.Domain = "localhost"
	server.MaxMessageBytes = maxMessage
	server.MaxRecipients = maxRecipients
	server.ReadTimeout = time.Minute
	server.WriteTimeout = time.Minute
	server.EnableSMTPUTF8 = true
	server.ErrorLog = slog.NewLogLogger(in.log.Handler(), slog.LevelWarn)
	stop := context.AfterFunc(ctx, func() {
		_ = server.Close()
		l.Close() // the server does not close it if ctx ended before Serve
	})
	defer stop()
	if err := server.Serve(netutil.LimitListener(l, maxConnections)); err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	return nil
}

// session is the mail that a connection is sending. Every sender and recipient is accepted.
type session struct {
	inbox      *Inbox
	from       string
	recipients []string
}

func (s *session) Reset()        { s.from, s.recipients = "", nil }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.recipients = append(s.recipients, to)
	return nil
}

// Data stores the mail with its envelope as header fields before it: Return-Path, as final delivery
// adds it (RFC 5321 section 4.4), and Delivered-To for each recipient. For our own errors it
// returns 451, so that the sender tries again.
func (s *session) Data(r io.Reader) error {
	var raw bytes.Buffer
	fmt.Fprintf(&raw, "Return-Path: <%s>\r\n", oneLine(s.from))
	for _, to := range s.recipients {
		fmt.Fprintf(&raw, "Delivered-To: %s\r\n", oneLine(to))
	}
	if _, err := raw.ReadFrom(r); err != nil {
		return err
	}
	if err := s.inbox.deliver(raw.Bytes()); err != nil {
		s.inbox.log.Error("mail not stored", "err", err)
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "Not stored, try again"}
	}
	return nil
}

// oneLine removes line ends, so that an address cannot add header fields.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, text)
}
