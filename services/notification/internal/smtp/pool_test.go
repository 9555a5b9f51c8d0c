package smtp

import (
	"sync"
	"testing"

	"herald/shared/testkit/outside"
)

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{})
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
	if n := s.Count(outside.Greeting); n > maxConnections {
		t.Errorf("%d connections", n)
	}
}

func TestConnectionIsChangedInTime(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{})
	r := newRelay(t, s.URL())
	for range maxMails + 1 {
		if result, _ := attempt(t, r); result.Outcome != Sent {
			t.Fatalf("%+v", result)
		}
	}
	if connections, quits := s.Count(outside.Greeting), s.Count(outside.QUIT); connections != 2 || quits != 1 {
		t.Errorf("%d connections, %d QUIT", connections, quits)
	}
}

// If an idle connection does not work any more, the next mail is sent over a new one.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]outside.MailFault{
		"dropped": {At: outside.RSET, Drop: true},
		"closing": {At: outside.RSET, Reply: "421 4.4.2 timeout", Drop: true},
		"refused": {At: outside.RSET, Reply: "500 5.5.1 what?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := outside.StartMailServer(t, outside.MailConfig{}, fault)
			r := newRelay(t, s.URL())
			for range 2 {
				if result, _ := attempt(t, r); result.Outcome != Sent {
					t.Fatalf("%+v", result)
				}
			}
			if n := s.Count(outside.Greeting); n != 2 {
				t.Errorf("%d connections", n)
			}
			accepted(t, s, 2)
		})
	}
}

func TestEveryFaultEndsTheConnection(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{},
		outside.MailFault{At: outside.RCPT, Times: 1, Reply: "550 5.1.1 no such user"})
	r := newRelay(t, s.URL())
	if result, _ := attempt(t, r); result.Outcome != Rejected {
		t.Fatalf("%+v", result)
	}
	if err := s.Reached(t.Context(), outside.Closed, 1); err != nil {
		t.Fatal(err)
	}
	if result, _ := attempt(t, r); result.Outcome != Sent || s.Count(outside.Greeting) != 2 {
		t.Errorf("%+v, %d connections", result, s.Count(outside.Greeting))
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{})
	r := newRelay(t, s.URL())
	for range 2 {
		if result, _ := attempt(t, r); result.Outcome != Sent {
			t.Fatalf("%+v", result)
		}
		r.Close()
	}
	if err := s.Reached(t.Context(), outside.Closed, 2); err != nil {
		t.Error(err)
	}
	if n := s.Count(outside.QUIT); n != 1 {
		t.Errorf("%d QUIT", n)
	}
}
