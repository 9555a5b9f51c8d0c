package bus_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"herald/shared/bus"
	_ "herald/shared/gen/herald/auth/v1" // the NATS users follow from the linked contracts
	_ "herald/shared/gen/herald/idp/v1"
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/projects/v1"
	_ "herald/shared/gen/herald/text/v1"
	_ "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
)

var silent = slog.New(slog.DiscardHandler)

func newKeys(t *testing.T) secret.Keys {
	t.Helper()
	k, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newServer(t *testing.T, keys secret.Keys, listen string) *server.Server {
	t.Helper()
	s, err := bus.Embedded{Dir: t.TempDir(), Listen: listen, Keys: keys}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Stop(s) })
	return s
}

func connect(t *testing.T, a bus.Address) *nats.Conn {
	t.Helper()
	nc, err := bus.Connect(t.Context(), a, silent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestOnlyUsersGetIn(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	s := newServer(t, keys, "127.0.0.1:0")
	url := "nats://" + s.Addr().String()
	for name, a := range map[string]bus.Address{
		"nobody":          {URL: url},
		"unknown":         {URL: url, User: "somebody", Password: bus.Password(keys, "somebody")},
		"wrong password":  {URL: url, User: "users", Password: bus.Password(keys, "text")},
		"another key":     {URL: url, User: "users", Password: bus.Password(newKeys(t), "users")},
		"where nobody is": {URL: "nats://127.0.0.1:1", User: "users"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if nc, err := bus.Connect(ctx, a, silent); err == nil {
				nc.Close()
				t.Error("got in")
			}
		})
	}
	connect(t, bus.Address{URL: url, User: "users", Password: bus.Password(keys, "users")})
	connect(t, bus.Address{Server: s, User: "users", Password: bus.Password(keys, "users")})
}

// Connect waits for a server that starts later than its clients.
func TestConnectWaits(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	keys := newKeys(t)
	connected := make(chan error, 1)
	go func() {
		nc, err := bus.Connect(t.Context(),
			bus.Address{URL: "nats://" + address, User: "users", Password: bus.Password(keys, "users")}, silent)
		if err == nil {
			nc.Close()
		}
		connected <- err
	}()
	first, err := l.Accept() // nothing answers this first attempt
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	l.Close()
	newServer(t, keys, address)
	if err := <-connected; err != nil {
		t.Error(err)
	}
}

func TestListenAddress(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"4222", "127.0.0.1:", "127.0.0.1:http", "a:b:c"} {
		if s, err := (bus.Embedded{Dir: t.TempDir(), Listen: listen, Keys: newKeys(t)}).Start(); err == nil {
			bus.Stop(s)
			t.Errorf("%q was taken for an address", listen)
		}
	}
}

// Publishing without a server fails at once.
func TestPublishFailsAtOnce(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	s := newServer(t, keys, "")
	nc := connect(t, bus.Address{Server: s, User: "users", Password: bus.Password(keys, "users")})
	lost := nc.StatusChanged(nats.RECONNECTING)
	bus.Stop(s)
	<-lost
	if err := nc.Publish("events.users.org.created.o", nil); err == nil {
		t.Error("kept for later")
	}
}

// A process with another master key logs this at once, before it gives up.
func TestWrongKeyIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	server := newServer(t, newKeys(t), "127.0.0.1:0")
	var logs bytes.Buffer
	said := make(chan string, 10)
	log := slog.New(slog.NewTextHandler(io.MultiWriter(&logs, lines(said)), nil))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		url := "nats://" + server.Addr().String()
		_, err := bus.Connect(ctx, bus.Address{URL: url}.As(bus.Gateway, newKeys(t)), log)
		failed <- err
	}()
	const why = "the master key of this process is not that of the NATS server"
	if line := <-said; !strings.Contains(line, "waiting for NATS") || !strings.Contains(line, why) {
		t.Errorf("the log says %s", line)
	}
	cancel()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), why) {
		t.Error(err)
	}
	if n := strings.Count(logs.String(), "waiting for NATS"); n != 1 {
		t.Errorf("the log says %d times: %s", n, logs.String())
	}
}

// lines is a writer that sends on what it gets.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
