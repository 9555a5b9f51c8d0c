package replicas_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// wire carries connections to NATS until it is cut. Then nothing passes, and neither side notices a closed connection.
type wire struct {
	address string
	cut     chan struct{}
}

// newWire returns a wire to an address.
func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{l.Addr().String(), make(chan struct{})}
	var open []io.Closer
	var mu sync.Mutex
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range append(open, l) {
			_ = c.Close()
		}
	})
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", to)
			if err != nil {
				_ = from.Close()
				return
			}
			mu.Lock()
			open = append(open, from, there)
			mu.Unlock()
			go w.carry(there, from)
			go w.carry(from, there)
		}
	}()
	return w
}

// carry copies until the wire is cut.
func (w *wire) carry(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-w.cut:
			return
		default:
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// A gateway and an auth service that are cut off from NATS get no events. Two seconds after an application was
// deactivated its tokens are refused everywhere, also by them and by the processes that ask them.
func TestReplicasThatAreCutOff(t *testing.T) {
	r := newReplicas(t, "users", "projects", "text", "auth")
	var nats string
	for _, setting := range r.Env {
		if address, ok := strings.CutPrefix(setting, "HERALD_NATS_URL=nats://"); ok {
			nats = address
		}
	}
	w, address := newWire(t, nats), whole.FreeAddress(t)
	through := "HERALD_NATS_URL=nats://" + w.address
	r.Start("auth", through)
	r.Start("gateway", "HERALD_LISTEN="+address, through)
	s := openShop(r)
	checks := s.checks(s.token())
	r.gateways = append(r.gateways, "http://"+address)
	for name, live := range checks {
		for g := range r.gateways {
			for range 4 { // so that every replica of auth has answered
				if ok, err := live(g); !ok || err != nil {
					t.Fatalf("%s refuses a new token at gateway %d: %v", name, g, err)
				}
			}
		}
	}
	close(w.cut)
	end := s.admin(0, "", "POST", s.apps+s.id+"/_deactivate", "{}").came
	var asking sync.WaitGroup
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	asked := 0
	for now := range tick.C {
		late := now.Sub(end)
		if late > 4*time.Second {
			break
		}
		for name, live := range checks {
			for g := range r.gateways {
				asking.Go(func() {
					// Whoever is cut off answers with 503 or 504, and so does who asks them.
					if ok, _ := live(g); ok && late > cacheTime {
						t.Errorf("%s took the token at gateway %d %s after the end", name, g, late)
					}
				})
			}
		}
		if late > cacheTime {
			asked++
		}
	}
	asking.Wait()
	if asked == 0 {
		t.Error("nobody was asked after two seconds")
	}
}
