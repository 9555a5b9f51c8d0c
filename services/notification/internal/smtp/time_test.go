package smtp

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"herald/shared/testkit/outside"
)

// inBubble runs test with a server over pipes. When both wait, the time passes at once.
func inBubble(t *testing.T, config outside.MailConfig, test func(t *testing.T, s *outside.MailServer, r *Relay)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := outside.NewMailServer(t, config)
		r := newRelay(t, s.URL())
		r.dial = func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go s.Serve(server)
			return client, nil
		}
		test(t, s, r)
		r.Close()
	})
}

func TestOutcomeOfEachHang(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		at      outside.Verb
		outcome Outcome
		relay   bool
		takes   time.Duration
	}{
		{outside.Greeting, Deferred, true, beforeDot},
		{outside.EHLO, Deferred, true, beforeDot},
		{outside.STARTTLS, Deferred, true, beforeDot},
		{outside.AUTH, Deferred, true, beforeDot},
		{outside.MAIL, Deferred, false, beforeDot},
		{outside.RCPT, Deferred, false, beforeDot},
		{outside.DATA, Deferred, false, beforeDot},
		{outside.Dot, Uncertain, false, dotTime},
	} {
		t.Run(string(test.at), func(t *testing.T) {
			t.Parallel()
			inBubble(t, guarded, func(t *testing.T, s *outside.MailServer, r *Relay) {
				s.Script(outside.MailFault{At: test.at, Hang: true})
				began := time.Now()
				result, committed := attempt(t, r)
				says := fmt.Sprintf("the mail relay did not answer in time at %s", map[bool]string{true: "the " +
					string(test.at), false: string(test.at)}[test.at == outside.Greeting || test.at == outside.Dot])
				if test.relay {
					says += ": check HERALD_SMTP_URL or /admin/v1/smtp"
				}
				want := said(test.outcome, says)
				want.Relay = test.relay
				if result != want {
					t.Errorf("%+v, want %+v", result, want)
				}
				if took := time.Since(began); took != test.takes {
					t.Errorf("it took %v, want %v", took, test.takes)
				}
				if committed != (test.at == outside.Dot) {
					t.Errorf("committed is %t", committed)
				}
			})
		})
	}
}

// Giving up before the mail server's slow answer would make the outcome uncertain.
func TestEndOfContextDoesNotCutTheFinalReply(t *testing.T) {
	t.Parallel()
	inBubble(t, outside.MailConfig{}, func(t *testing.T, s *outside.MailServer, r *Relay) {
		s.Script(outside.MailFault{At: outside.Dot, Hang: true})
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		go func() {
			if err := s.Reached(ctx, outside.Dot, 1); err != nil {
				t.Error(err)
			}
			cancel()
		}()
		if result := r.Send(ctx, sample(), func(context.Context) error { return nil }); result.Outcome != Uncertain ||
			time.Since(began) != dotTime {
			t.Errorf("%+v after %v", result, time.Since(began))
		}
	})
}

func TestCommitThatHangs(t *testing.T) {
	t.Parallel()
	inBubble(t, outside.MailConfig{}, func(t *testing.T, s *outside.MailServer, r *Relay) {
		began := time.Now()
		result := r.Send(t.Context(), sample(), func(ctx context.Context) error { <-ctx.Done(); return nil })
		if result.Outcome != Deferred || time.Since(began) != beforeDot || s.Count(outside.Dot) != 0 {
			t.Errorf("%+v after %v", result, time.Since(began))
		}
	})
}

func TestDialThatHangs(t *testing.T) {
	t.Parallel()
	inBubble(t, outside.MailConfig{}, func(t *testing.T, _ *outside.MailServer, r *Relay) {
		r.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if result, _ := attempt(t, r); result.Outcome != Deferred || !result.Relay {
			t.Errorf("%+v", result)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if result := r.Send(ctx, sample(), nil); result.Outcome != Deferred || result.Relay {
			t.Errorf("the caller's own end is taken for the relay's: %+v", result)
		}
	})
}

func TestIdleConnectionIsReusedThenClosed(t *testing.T) {
	t.Parallel()
	inBubble(t, guarded, func(t *testing.T, s *outside.MailServer, r *Relay) {
		for _, pause := range []time.Duration{
			0, idleTime - time.Second, idleTime - time.Second, idleTime + time.Second,
		} {
			<-time.After(pause)
			if result, _ := attempt(t, r); result.Outcome != Sent {
				t.Fatalf("%+v", result)
			}
		}
		if connections, resets, quits := s.Count(outside.Greeting), s.Count(outside.RSET),
			s.Count(outside.QUIT); connections != 2 || resets != 2 || quits != 1 {
			t.Errorf("%d connections, %d RSET, %d QUIT", connections, resets, quits)
		}
	})
}

func TestIdleConnectionThatHangs(t *testing.T) {
	t.Parallel()
	inBubble(t, outside.MailConfig{}, func(t *testing.T, s *outside.MailServer, r *Relay) {
		s.Script(outside.MailFault{At: outside.RSET, Hang: true}, outside.MailFault{At: outside.QUIT, Hang: true})
		for range 2 {
			if result, _ := attempt(t, r); result.Outcome != Sent {
				t.Fatalf("%+v", result)
			}
		}
		if n := s.Count(outside.Greeting); n != 2 {
			t.Errorf("%d connections", n)
		}
		began := time.Now()
		r.Close()
		if took := time.Since(began); took != quitTime {
			t.Errorf("closing took %v", took)
		}
	})
}

// Ten mails at once fail in the time of one while the mail server does not answer.
func TestBusyRelay(t *testing.T) {
	t.Parallel()
	inBubble(t, outside.MailConfig{}, func(t *testing.T, s *outside.MailServer, r *Relay) {
		s.Script(outside.MailFault{At: outside.MAIL, Hang: true})
		began := time.Now()
		results := make(chan Result)
		for range 10 {
			go func() { results <- r.Send(t.Context(), sample(), nil) }()
		}
		for range 10 {
			if result := <-results; result.Outcome != Deferred {
				t.Errorf("%+v", result)
			}
		}
		if took := time.Since(began); took > beforeDot {
			t.Errorf("it took %v", took)
		}
	})
}
