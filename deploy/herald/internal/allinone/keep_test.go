package allinone

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/secret"
)

const fullDisk = "streams, and the disk is full"

// NATS disables its streams when their disk is full. It carries requests until there is room. The connections find the
// server that takes its place, and it has the streams and the port of the old one.
func TestNATSIsStartedAgain(t *testing.T) {
	t.Parallel()
	keys, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	endStreams := func(s *server.Server) { _ = s.ShutdownJetStream() }
	for name, end := range map[string]func(*server.Server){
		"streams": endStreams, "server": (*server.Server).Shutdown, fullDisk: endStreams,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := make(lines, 10)
			log := slog.New(slog.NewTextHandler(said, nil))
			n, err := startNATS(bus.Embedded{Dir: t.TempDir(), Listen: "127.0.0.1:0", Keys: keys})
			if err != nil {
				t.Fatal(err)
			}
			s := &system{nats: n, ground: boot.Ground{Telemetry: boot.Telemetry{Log: log}}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			conn, err := bus.Connect(ctx, bus.Address{Server: n}.As("users", keys), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			js, err := jetstream.New(conn)
			if err != nil {
				t.Fatal(err)
			}
			stream := jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"events.>"}}
			if _, err := js.CreateStream(ctx, stream); err != nil {
				t.Fatal(err)
			}
			publish := func() (uint64, error) {
				ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // the request may be lost
				defer cancel()
				ack, err := js.Publish(ctx, "events.users.a", nil)
				if err != nil {
					return 0, err
				}
				return ack.Sequence, nil
			}
			if _, err := publish(); err != nil {
				t.Fatal(err)
			}
			address := n.Listen
			end(n.current.Load())
			watch, stop := context.WithCancel(ctx)
			kept := make(chan struct{})
			s.disk.full.Store(name == fullDisk)
			go func() { s.keepNATS(watch); close(kept) }()
			if name == fullDisk {
				carries(t, conn)
				s.disk.full.Store(false)
			}
			sequence, err := publish()
			for err != nil && ctx.Err() == nil {
				sequence, err = publish()
			}
			if err != nil || sequence < 2 { // the stream is the old one
				t.Errorf("published as %d: %v", sequence, err)
			}
			if got := n.current.Load().Addr().String(); got != address {
				t.Errorf("the address was %s and is %s", address, got)
			}
			said.expect(ctx, t, "NATS does not work; starting it again")
			said.expect(ctx, t, "NATS runs again")
			stop()
			<-kept
			n.stop()
			if len(said) > 0 {
				t.Errorf("the log also says %s", <-said)
			}
		})
	}
}

// carries fails the test unless NATS carries requests for longer than it takes to find out that its streams do not
// work.
func carries(t *testing.T, conn *client.Conn) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 40 {
		if err := conn.FlushTimeout(2 * time.Second); err != nil || conn.Stats().Reconnects > 0 {
			t.Fatalf("NATS does not carry requests: %v, %d reconnects", err, conn.Stats().Reconnects)
		}
		<-tick.C
	}
}

// lines is a writer that sends on what it gets.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// expect fails the test unless the next line contains a text.
func (l lines) expect(ctx context.Context, t *testing.T, want string) {
	t.Helper()
	select {
	case line := <-l:
		if !strings.Contains(line, want) {
			t.Errorf("the log says %s", line)
		}
	case <-ctx.Done():
		t.Fatalf("the log does not say %s", want)
	}
}
