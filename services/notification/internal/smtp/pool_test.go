package smtp

import (
	"sync"
	"testing"

	"herald/shared/testkit/smtpd"
)

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	s := smtpd.Start(t, smtpd.Config{})
	r := newRelay(t, s.URL())
	var sending sync.WaitGroup
	for range 40 {
		sending.Go(func() {
			if result, _ := attempt(t, r); result.Outcome != Sent {
				t.Errorf("%+v", result)
			}
		})
	}
	sending.Wait()
	accepted(t, s, 40)
	if n := s.Count(smtpd.Greeting); n > maxConnections {
		t.Errorf("%d connections", n)
	}
}

func TestConnectionIsChangedInTime(t *testing.T) {
	t.Parallel()
	s := smtpd.Start(t, smtpd.Config{})
	r := newRelay(t, s.URL())
	for range maxMails + 1 {
		if result, _ := attempt(t, r); result.Outcome != Sent {
			t.Fatalf("%+v", result)
		}
	}
	if connections, quits := s.Count(smtpd.Greeting), s.Count(smtpd.QUIT); connections != 2 || quits != 1 {
		t.Errorf("%d connections, %d QUIT", connections, quits)
	}
}

// If an idle connection does not work any more, the next mail is sent over a new one.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]smtpd.Fault{
		"dropped": {At: smtpd.RSET, Drop: true},
		"closing": {At: smtpd.RSET, Reply: "421 4.4.2 timeout", Drop: true},
		"refused": {At: smtpd.RSET, Reply: "500 5.5.1 what?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := smtpd.Start(t, smtpd.Config{}, fault)
			r := newRelay(t, s.URL())
			for range 2 {
				if result, _ := attempt(t, r); result.Outcome != Sent {
					t.Fatalf("%+v", result)
				}
			}
			if n := s.Count(smtpd.Greeting); n != 2 {
				t.Errorf("%d connections", n)
			}
			accepted(t, s, 2)
		})
	}
}

func TestEveryFaultEndsTheConnection(t *testing.T) {
	t.Parallel()
	s := smtpd.Start(t, smtpd.Config{}, smtpd.Fault{At: smtpd.RCPT, Times: 1, Reply: "550 5.1.1 no such user"})
	r := newRelay(t, s.URL())
	if result, _ := attempt(t, r); result.Outcome != Rejected {
		t.Fatalf("%+v", result)
	}
	if err := s.Reached(t.Context(), smtpd.Closed, 1); err != nil {
		t.Fatal(err)
	}
	if result, _ := attempt(t, r); result.Outcome != Sent || s.Count(smtpd.Greeting) != 2 {
		t.Errorf("%+v, %d connections", result, s.Count(smtpd.Greeting))
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := smtpd.Start(t, smtpd.Config{})
	r := newRelay(t, s.URL())
	for range 2 {
		if result, _ := attempt(t, r); result.Outcome != Sent {
			t.Fatalf("%+v", result)
		}
		r.Close()
	}
	if err := s.Reached(t.Context(), smtpd.Closed, 2); err != nil {
		t.Error(err)
	}
	if n := s.Count(smtpd.QUIT); n != 1 {
		t.Errorf("%d QUIT", n)
	}
}
