package smtp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"herald/shared/testkit/outside"
)

// An answer that comes before its command would be taken for the answer to that command, so a refused mail would be
// sent.
func TestAnswerBeforeItsCommandEndsTheSession(t *testing.T) {
	t.Parallel()
	const early = "\r\n250 2.0.0 accepted"
	refused := outside.MailFault{At: outside.Dot, Reply: "554 5.7.1 spam"}
	for _, fault := range []outside.MailFault{
		{At: outside.Greeting, Reply: "220 smtpd.test" + early},
		{At: outside.EHLO, Reply: "250-STARTTLS\r\n250 AUTH PLAIN" + early},
		{At: outside.STARTTLS, Reply: "220 go ahead" + early},
		{At: outside.AUTH, Reply: "235 welcome" + early},
		{At: outside.MAIL, Reply: "250 ok" + early},
		{At: outside.RCPT, Reply: "250 ok" + early},
		{At: outside.DATA, Reply: "354 go ahead" + early},
	} {
		t.Run(string(fault.At), func(t *testing.T) {
			t.Parallel()
			s := outside.StartMailServer(t, guarded, fault, refused)
			r := newRelay(t, s.URL())
			result, _ := attempt(t, r)
			if result.Outcome != Deferred || !strings.Contains(result.Reply, "answered before it was asked") {
				t.Errorf("%+v", result)
			}
			if n := s.Count(outside.Dot); n != 0 {
				t.Errorf("%d final dots", n)
			}
			s.Script()
			if result, _ := attempt(t, r); result.Outcome != Sent {
				t.Errorf("the next attempt: %+v", result)
			}
			accepted(t, s, 1)
		})
	}
}

// The relay sends the answer to the final dot while the attempt is being recorded.
func TestAnswerDuringTheCommitEndsTheSession(t *testing.T) {
	t.Parallel()
	inBubble(t, guarded, func(t *testing.T, s *outside.MailServer, r *Relay) {
		s.Script(outside.MailFault{At: outside.DATA, Reply: "354 go ahead", Unasked: "250 2.0.0 accepted"},
			outside.MailFault{At: outside.Dot, Reply: "554 5.7.1 spam"})
		result := r.Send(t.Context(), sample(), func(context.Context) error {
			synctest.Wait()
			return nil
		})
		if result.Outcome != Deferred || s.Count(outside.Unasked) != 1 || s.Count(outside.Dot) != 0 {
			t.Errorf("%+v after %d final dots", result, s.Count(outside.Dot))
		}
	})
}

// An answer after that to the final dot does not undo the sending. The next mail gets another session.
func TestAnswerBetweenMailsEndsTheSession(t *testing.T) {
	t.Parallel()
	for _, fault := range []outside.MailFault{
		{At: outside.Dot, Times: 1, Reply: "250 2.0.0 accepted\r\n421 4.4.2 timeout"},
		{At: outside.Dot, Times: 1, Reply: "250 2.0.0 accepted", Unasked: "421 4.4.2 timeout"},
		{At: outside.RSET, Times: 1, Reply: "250 2.0.0 ok\r\n250 2.0.0 accepted"},
	} {
		t.Run(fmt.Sprintf("%s %q", fault.At, fault.Unasked), func(t *testing.T) {
			t.Parallel()
			inBubble(t, outside.MailConfig{}, func(t *testing.T, s *outside.MailServer, r *Relay) {
				s.Script(fault)
				for range 2 {
					if result, _ := attempt(t, r); result.Outcome != Sent {
						t.Fatalf("%+v", result)
					}
					synctest.Wait()
				}
				if connections := s.Count(outside.Greeting); connections != 2 {
					t.Errorf("%d connections", connections)
				}
			})
		})
	}
}
