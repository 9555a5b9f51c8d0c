package smtp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"herald/shared/secret"
	"herald/shared/testkit/outside"
)

// guarded is a server whose sessions have every possible step.
var guarded = outside.MailConfig{TLS: outside.StartTLS, DemandTLS: true, User: "herald", Password: "CANARY"}

func newRelay(t *testing.T, address string) *Relay {
	t.Helper()
	r, err := NewRelay(secret.NewText(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// attempt sends the sample and reports whether commit was called.
func attempt(t *testing.T, r *Relay) (result Result, committed bool) {
	t.Helper()
	result = r.Send(t.Context(), sample(), func(context.Context) error {
		if committed {
			t.Error("commit is called twice")
		}
		committed = true
		return nil
	})
	return result, committed
}

func accepted(t *testing.T, s *outside.MailServer, want int) []outside.Delivery {
	t.Helper()
	got, err := s.Wait(t.Context(), want)
	if err != nil || len(got) != want {
		t.Fatalf("%d mails accepted, %v, want %d", len(got), err, want)
	}
	return got
}

func TestSend(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, guarded)
	result, committed := attempt(t, newRelay(t, s.URL()))
	if result.Outcome != Sent || result.Relay || !committed || !strings.HasPrefix(result.Reply, "250 2.0.0 accepted") {
		t.Errorf("%+v, committed %t", result, committed)
	}
	d := accepted(t, s, 1)[0]
	if d.From != "no-reply@example.com" || len(d.To) != 1 || d.To[0] != "ada@example.com" || !d.TLS ||
		d.User != "herald" || d.UTF8 {
		t.Errorf("envelope %+v", d)
	}
	if string(d.Data) != string(build(t, sample()).data) {
		t.Errorf("arrived as\n%s", d.Data)
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestOutcomeOfEachReply scripts one reply at each moment.
func TestOutcomeOfEachReply(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		at      outside.Verb
		reply   string
		outcome Outcome
		relay   bool
		says    string
	}{
		{outside.Greeting, "421 4.3.2 closing", Deferred, true, "the mail relay failed at the greeting (421 4.3.2 " +
			"closing): check HERALD_SMTP_URL or /admin/v1/smtp"},
		{outside.Greeting, "554 5.3.2 no mail here", Deferred, true, "554 5.3.2 no mail here"},
		{outside.EHLO, "421 4.3.2 closing", Deferred, true, "421 4.3.2 closing"},
		{outside.EHLO, "550 5.7.1 not you", Deferred, true, "550 5.7.1 not you"},
		{outside.STARTTLS, "454 4.7.0 not now", Deferred, true, "the mail relay failed at STARTTLS (454 4.7.0 not " +
			"now): check HERALD_SMTP_URL or /admin/v1/smtp"},
		{outside.STARTTLS, "501 5.5.4 no", Deferred, true, "501 5.5.4 no"},
		{outside.AUTH, "454 4.7.0 not now", Deferred, true, "454 4.7.0 not now"},
		{outside.AUTH, "535 5.7.8 wrong", Deferred, true, "the mail relay refused the user name or password " +
			"(535 5.7.8 wrong): check HERALD_SMTP_URL or /admin/v1/smtp"},
		{outside.AUTH, "534 5.7.9 too weak", Deferred, true, "534 5.7.9 too weak"},
		{outside.MAIL, "421 4.3.2 closing", Deferred, false, "421 4.3.2 closing"},
		{outside.MAIL, "452 4.3.1 full", Deferred, false, "452 4.3.1 full"},
		{outside.MAIL, "550 5.7.1 not from you", Rejected, false, "the mail relay refused the sender (550 5.7.1 not " +
			"from you): check HERALD_MAIL_FROM or /admin/v1/smtp"},
		{outside.MAIL, "530 5.7.0 Authentication required", Deferred, true, "check HERALD_SMTP_URL or /admin/v1/smtp"},
		{outside.MAIL, "251 what?", Deferred, false, "251 what?"},
		{outside.RCPT, "450 4.2.0 greylisted", Deferred, false, "450 4.2.0 greylisted"},
		{outside.RCPT, "550 5.1.1 no such user", Rejected, false,
			"the mail relay refused the recipient (550 5.1.1 no such user)"},
		{outside.RCPT, "550-5.1.1 no such\r\n550 5.1.1 user", Rejected, false, "550 5.1.1 no such user"},
		{outside.RCPT, "251 2.1.5 will forward", Sent, false, "250"},
		{outside.RCPT, "hello", Deferred, false, "RCPT"},
		{outside.DATA, "451 4.3.0 later", Deferred, false, "451 4.3.0 later"},
		{outside.DATA, "554 5.5.1 no", Rejected, false, "554 5.5.1 no"},
		{outside.DATA, "250 what?", Deferred, false, "250 what?"},
		{outside.Dot, "452 4.3.1 full", Deferred, false, "452 4.3.1 full"},
		{outside.Dot, "421 4.3.2 closing", Deferred, false, "421 4.3.2 closing"},
		{outside.Dot, "552 5.3.4 too big", Rejected, false, "552 5.3.4 too big"},
		{outside.Dot, "554 5.7.1 spam", Rejected, false, "554 5.7.1 spam"},
		{outside.Dot, "252 2.0.0 fine", Sent, false, "252 2.0.0 fine"},
		{outside.Dot, "354 what?", Uncertain, false, "354 what?"},
		{outside.Dot, "hello", Uncertain, false, "final dot"},
		{outside.Dot, "999 hello", Uncertain, false, "999 hello"},
	} {
		t.Run(fmt.Sprintf("%s %.12q", test.at, test.reply), func(t *testing.T) {
			t.Parallel()
			faults := []outside.MailFault{{At: test.at, Reply: test.reply}}
			if test.at == outside.EHLO { // after a refused EHLO the client sends HELO
				faults = append(faults, outside.MailFault{At: outside.HELO, Reply: test.reply})
			}
			s := outside.StartMailServer(t, guarded, faults...)
			result, committed := attempt(t, newRelay(t, s.URL()))
			if result.Outcome != test.outcome || result.Relay != test.relay ||
				!strings.Contains(result.Reply, test.says) {
				t.Errorf("%+v", result)
			}
			checkTelling(t, result, test.at, test.reply)
			if want := test.at == outside.Dot || test.outcome == Sent; committed != want {
				t.Errorf("committed is %t", committed)
			}
			accepted(t, s, count(test.outcome == Sent))
		})
	}
}

// checkTelling fails the test if a result lacks the reply's code. It also fails the test if Log has words of a relay
// that knows the recipient, or if the mail server accepts no mail and the result names no setting.
func checkTelling(t *testing.T, result Result, at outside.Verb, reply string) {
	t.Helper()
	code, text, _ := strings.Cut(reply, " ")
	if want, err := strconv.Atoi(code); err == nil && result.Outcome != Sent && result.Code != want {
		t.Errorf("code %d of %q", result.Code, reply)
	}
	mail := slices.Contains([]outside.Verb{outside.MAIL, outside.RCPT, outside.DATA, outside.Dot}, at)
	if mail && text != "" && strings.Contains(result.Log, text) {
		t.Errorf("a log would hold %q", result.Log)
	}
	if result.Relay && (!strings.Contains(result.Reply, setting) || !strings.Contains(result.Log, setting)) {
		t.Errorf("no setting is named in %q", result.Reply)
	}
	if result.Outcome != Sent && result.Log == "" {
		t.Error("nothing is left for a log")
	}
	answered := at == outside.Dot && result.Outcome != Uncertain || result.Outcome == Sent
	if result.Answered != answered {
		t.Errorf("an answer to the final dot: %t", result.Answered)
	}
}

// TestOutcomeOfEachDrop ends the connection at each moment.
func TestOutcomeOfEachDrop(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault   outside.MailFault
		outcome Outcome
		relay   bool
	}{
		{outside.MailFault{At: outside.Greeting}, Deferred, true},
		{outside.MailFault{At: outside.EHLO}, Deferred, true},
		{outside.MailFault{At: outside.STARTTLS}, Deferred, true},
		{outside.MailFault{At: outside.STARTTLS, Reply: "220 go ahead"}, Deferred, true},
		{outside.MailFault{At: outside.AUTH}, Deferred, true},
		{outside.MailFault{At: outside.MAIL}, Deferred, false},
		{outside.MailFault{At: outside.RCPT}, Deferred, false},
		{outside.MailFault{At: outside.DATA}, Deferred, false},
		{outside.MailFault{At: outside.Dot}, Uncertain, false},
		{outside.MailFault{At: outside.Dot, Accept: true}, Uncertain, false},
		{outside.MailFault{At: outside.Dot, Reply: "250 2.0.0 ok"}, Sent, false},
		{outside.MailFault{At: outside.Dot, Reply: "550 5.7.1 no"}, Rejected, false},
	} {
		t.Run(fmt.Sprintf("%s %q %t", test.fault.At, test.fault.Reply, test.fault.Accept), func(t *testing.T) {
			t.Parallel()
			test.fault.Drop = true
			s := outside.StartMailServer(t, guarded, test.fault)
			r := newRelay(t, s.URL())
			result, committed := attempt(t, r)
			if result.Outcome != test.outcome || result.Relay != test.relay || result.Reply == "" {
				t.Errorf("%+v", result)
			}
			if committed != (test.fault.At == outside.Dot) {
				t.Errorf("committed is %t", committed)
			}
			accepted(t, s, count(test.fault.Accept || test.outcome == Sent))
			s.Script()
			if result, _ := attempt(t, r); result.Outcome != Sent {
				t.Errorf("the next attempt: %+v", result)
			}
		})
	}
}

// The client notices the lost connection after the final dot, so the outcome is uncertain.
func TestDropWhileCommitting(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{},
		outside.MailFault{At: outside.DATA, Reply: "354 go ahead", Drop: true})
	result := newRelay(t, s.URL()).Send(t.Context(), sample(), func(ctx context.Context) error {
		return s.Reached(ctx, outside.Closed, 1)
	})
	if result.Outcome != Uncertain && result.Outcome != Deferred {
		t.Errorf("%+v", result)
	}
	accepted(t, s, 0)
}

// wire keeps the bytes that are written to a connection.
type wire struct {
	net.Conn
	written []byte
}

func (w *wire) Write(b []byte) (int, error) {
	w.written = append(w.written, b...)
	return w.Conn.Write(b)
}

func TestCommit(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{})
	r := newRelay(t, s.URL())
	var w *wire
	r.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		w = &wire{Conn: conn}
		return w, err
	}
	result := r.Send(t.Context(), sample(), func(context.Context) error {
		if last := build(t, sample()).data; !strings.HasSuffix(string(w.written), string(last[len(last)-200:])) {
			t.Errorf("commit runs after\n%s", w.written)
		}
		return errors.New("another notifier\nhas this mail")
	})
	if want := said(Aborted, "another notifier has this mail"); result != want {
		t.Errorf("%+v", result)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result = r.Send(ctx, sample(), func(context.Context) error { cancel(); return nil })
	if result.Outcome != Deferred || result.Relay {
		t.Errorf("cancelled: %+v", result)
	}
	if result := r.Send(ctx, sample(), nil); result.Outcome != Deferred || result.Relay {
		t.Errorf("cancelled before: %+v", result)
	}
	if result, _ := attempt(t, r); result.Outcome != Sent {
		t.Errorf("%+v", result)
	}
	if accepted(t, s, 1); s.Count(outside.Dot) != 1 {
		t.Errorf("%d final dots", s.Count(outside.Dot))
	}
}

func TestUnusableMailIsRejected(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{})
	m := sample()
	m.To = "a@example.com,b@example.com"
	if result := newRelay(t, s.URL()).Send(t.Context(), m, nil); result.Outcome != Rejected ||
		!strings.Contains(result.Reply, "recipient") {
		t.Errorf("%+v", result)
	}
	if s.Count(outside.Greeting) != 0 {
		t.Error("the relay was asked")
	}
}

func TestAddressesOutsideASCII(t *testing.T) {
	t.Parallel()
	for to, test := range map[string]struct {
		extensions []string
		outcome    Outcome
		envelope   string
		utf8       bool
	}{
		"ada@bücher.example": {[]string{"8BITMIME"}, Sent, "ada@xn--bcher-kva.example", false},
		"アダ@bücher.example":  {[]string{"8BITMIME", "SMTPUTF8"}, Sent, "アダ@xn--bcher-kva.example", true},
		"ü@example.com":      {[]string{"8BITMIME"}, Rejected, "", false},
	} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			s := outside.StartMailServer(t, outside.MailConfig{Extensions: test.extensions})
			m := sample()
			m.To = to
			result := newRelay(t, s.URL()).Send(t.Context(), m, func(context.Context) error { return nil })
			if result.Outcome != test.outcome || (result.Outcome == Rejected) != strings.Contains(result.Reply,
				"SMTPUTF8") {
				t.Fatalf("%+v", result)
			}
			for _, d := range accepted(t, s, count(test.outcome == Sent)) {
				if d.To[0] != test.envelope || d.UTF8 != test.utf8 ||
					!strings.Contains(string(d.Data), "\r\nTo: <"+test.envelope+">\r\n") {
					t.Errorf("envelope %+v", d)
				}
			}
		})
	}
}

func TestReplyIsOneShortLine(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{
		"550 \x1b[31mno\x00\u0085\xff" +
			strings.Repeat(" 漢", 600): "the mail relay refused the recipient (550 [31mno … 漢 漢",
		"550-" + strings.Repeat("a\r\n550-", 2000) + "\r\n550 b": "the mail relay refused the recipient (550 a a a",
	} {
		s := outside.StartMailServer(t, outside.MailConfig{}, outside.MailFault{At: outside.RCPT, Reply: reply})
		result, _ := attempt(t, newRelay(t, s.URL()))
		if result.Outcome != Rejected || strings.ContainsFunc(result.Reply, unicode.IsControl) ||
			utf8.RuneCountInString(result.Reply) != maxWords+len("the mail relay refused the recipient ()") ||
			!strings.HasPrefix(result.Reply, want) {
			t.Errorf("%+v", result)
		}
	}
}

func TestTooLongAnswerDefersTheMail(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{}, outside.MailFault{
		At: outside.EHLO, Reply: strings.Repeat("250-x\r\n", maxRead/5) + "250 x",
	})
	if result, _ := attempt(t, newRelay(t, s.URL())); result.Outcome != Deferred || !result.Relay ||
		!strings.Contains(result.Reply, "too much") {
		t.Errorf("%+v", result)
	}
}

func TestUnreachableRelay(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	result, _ := attempt(t, newRelay(t, "smtp://"+listener.Addr().String()))
	if result.Outcome != Deferred || !result.Relay || result.Reply != "the mail relay failed at connecting: connect: "+
		"connection refused: check HERALD_SMTP_URL or /admin/v1/smtp" {
		t.Errorf("%+v", result)
	}
}

func TestUnknownRelay(t *testing.T) {
	t.Parallel()
	r := newRelay(t, "smtp://nobody.invalid:25")
	r.dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{
			Op: "dial", Err: &net.DNSError{
				Err: "no such host", Name: "nobody.invalid", Server: "10.0.0.2:53", IsNotFound: true,
			},
		}
	}
	result, _ := attempt(t, r)
	if result.Outcome != Deferred || !result.Relay ||
		result.Reply != "the mail relay's name is not known: check HERALD_SMTP_URL or /admin/v1/smtp" {
		t.Errorf("%+v", result)
	}
}
