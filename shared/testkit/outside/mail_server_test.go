package outside

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

const letter = "Message-ID: <1@example.com>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n" +
	"Content-Type: multipart/alternative; boundary=b\r\n\r\n" +
	"--b\r\nContent-Type: text/plain; charset=UTF-8\r\n\r\n.one=C3=BC\r\n" +
	"--b\r\nContent-Type: text/html; charset=UTF-8\r\n\r\n<p>two</p>\r\n--b--\r\n"

// dial connects the standard library's client, with STARTTLS and AUTH as the server is configured.
func dial(t *testing.T, s *MailServer) (*smtp.Client, error) {
	t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialTimeout("tcp", u.Host, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	config := &tls.Config{ServerName: "127.0.0.1", RootCAs: x509.NewCertPool()}
	if file := u.Query().Get("ca"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
			t.Fatalf("read %s: %v", file, err)
		}
	}
	if u.Scheme == "smtps" {
		conn = tls.Client(conn, config)
	}
	client, err := smtp.NewClient(conn, "127.0.0.1")
	if err != nil {
		return nil, err
	}
	if offered, _ := client.Extension("STARTTLS"); offered {
		if err := client.StartTLS(config); err != nil {
			return nil, err
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		return client, client.Auth(smtp.PlainAuth("", u.User.Username(), password, "127.0.0.1"))
	}
	return client, nil
}

func send(t *testing.T, s *MailServer) error {
	t.Helper()
	client, err := dial(t, s)
	if err != nil {
		return err
	}
	if err := client.Mail("from@example.com"); err != nil {
		return err
	}
	if err := client.Rcpt("to@example.com"); err != nil {
		return err
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, letter); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return client.Quit()
}

func TestAccepts(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]MailConfig{
		"plain":    {},
		"starttls": {TLS: StartTLS, DemandTLS: true},
		"implicit": {TLS: ImplicitTLS},
		"auth":     {TLS: StartTLS, DemandTLS: true, User: "herald", Password: "p&ss"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := StartMailServer(t, config)
			for range 2 {
				if err := send(t, s); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Wait(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			d := got[1]
			if d.From != "from@example.com" || len(d.To) != 1 || d.To[0] != "to@example.com" ||
				string(d.Data) != letter {
				t.Errorf("delivered %+v", d)
			}
			if d.MessageID != "<1@example.com>" || got[0].Repeat != 0 || d.Repeat != 1 {
				t.Errorf("%s repeats %d and %d", d.MessageID, got[0].Repeat, d.Repeat)
			}
			if d.TLS != (config.TLS != NoTLS) || d.User != config.User {
				t.Errorf("TLS %t, user %q", d.TLS, d.User)
			}
			m, err := d.Parse()
			if err != nil || m.Subject != "Grüße" || m.Text != ".oneü" || m.HTML != "<p>two</p>" {
				t.Errorf("parsed %+v, %v", m, err)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, at := range []Verb{Greeting, MAIL, RCPT, DATA, Dot} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			s := StartMailServer(t, MailConfig{}, MailFault{At: at, Times: 1, Reply: "451 4.3.0 later"},
				MailFault{At: at, Times: 1, Drop: true})
			if reply, _ := errors.AsType[*textproto.Error](send(t, s)); reply == nil || reply.Code != 451 ||
				reply.Msg != "4.3.0 later" {
				t.Errorf("the first is answered %v", reply)
			}
			if err := send(t, s); !errors.Is(err, io.EOF) {
				t.Errorf("the second ends in %v", err)
			}
			if err := send(t, s); err != nil {
				t.Errorf("the third: %v", err)
			}
			if got, err := s.Wait(t.Context(), 1); err != nil || len(got) != 1 {
				t.Errorf("%d accepted, %v", len(got), err)
			}
			if n := s.Count(Greeting); n != 3 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

func TestAcceptsAndDrops(t *testing.T) {
	t.Parallel()
	s := StartMailServer(t, MailConfig{}, MailFault{At: Dot, Drop: true, Accept: true})
	if err := send(t, s); !errors.Is(err, io.EOF) {
		t.Errorf("ends in %v", err)
	}
	if _, err := s.Wait(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

func TestAnswersAfterAWait(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	s := StartMailServer(t, MailConfig{}, MailFault{At: Dot, Wait: answer, Reply: "250 2.0.0 at last"})
	sent := make(chan error)
	go func() { sent <- send(t, s) }()
	if _, err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-sent:
		t.Fatalf("answered at once, %v", err)
	default:
	}
	close(answer)
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestHangEndsWithTheServer(t *testing.T) {
	t.Parallel()
	var conn net.Conn
	t.Run("server", func(t *testing.T) {
		s := StartMailServer(t, MailConfig{}, MailFault{At: EHLO, Hang: true})
		var err error
		if conn, err = net.Dial("tcp", s.listener.Addr().String()); err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.WriteString(conn, "EHLO x\r\n"); err != nil {
			t.Fatal(err)
		}
		if err := s.Reached(t.Context(), EHLO, 1); err != nil {
			t.Fatal(err)
		}
	})
	defer conn.Close()
	if said, err := io.ReadAll(conn); err != nil || string(said) != "220 smtpd.test ESMTP\r\n" {
		t.Errorf("heard %q, then %v", said, err)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config MailConfig
		say    string
		want   int
	}{
		"mail before hello": {MailConfig{}, "MAIL FROM:<a@b>", 503},
		"rcpt before mail":  {MailConfig{}, "RCPT TO:<a@b>", 503},
		"data before rcpt":  {MailConfig{}, "EHLO x|MAIL FROM:<a@b>|DATA", 503},
		"mail twice":        {MailConfig{}, "EHLO x|MAIL FROM:<a@b>|MAIL FROM:<a@b>", 503},
		"without TLS":       {MailConfig{TLS: StartTLS, DemandTLS: true}, "EHLO x|MAIL FROM:<a@b>", 530},
		"without login":     {MailConfig{User: "u", Password: "p"}, "EHLO x|MAIL FROM:<a@b>", 530},
		"PLAIN wrong":       {MailConfig{User: "u", Password: "p"}, "EHLO x|AUTH PLAIN AHUAeA==", 535},
		"PLAIN right":       {MailConfig{User: "u", Password: "p"}, "EHLO x|AUTH PLAIN AHUAcA==", 235},
		"PLAIN asked":       {MailConfig{User: "u", Password: "p"}, "EHLO x|AUTH PLAIN|AHUAcA==", 235},
		"LOGIN right":       {MailConfig{User: "u", Password: "p"}, "EHLO x|AUTH LOGIN|dQ==|cA==", 235},
		"LOGIN wrong":       {MailConfig{User: "u", Password: "p"}, "EHLO x|AUTH LOGIN|dQ==|*", 535},
		"mechanism not offered": {MailConfig{User: "u", Password: "p", Mechanisms: "LOGIN"},
			"EHLO x|AUTH PLAIN AHUAcA==", 504},
		"starttls not offered": {MailConfig{}, "EHLO x|STARTTLS", 503},
		"unknown":              {MailConfig{}, "EHLO x|VRFY a", 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(StartMailServer(t, test.config).URL())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(10 * time.Second))
			text := textproto.NewConn(conn)
			_, _, _ = text.ReadResponse(0)
			code := 0
			for line := range strings.SplitSeq(test.say, "|") {
				if err := text.PrintfLine("%s", line); err != nil {
					t.Fatal(err)
				}
				code, _, _ = text.ReadResponse(0)
			}
			if code != test.want {
				t.Errorf("answered %d, want %d", code, test.want)
			}
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewMailServer(t, MailConfig{}).Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v", err)
	}
}
