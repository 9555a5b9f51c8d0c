package allinone

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/secret"
)

// NATS disables its streams when their disk is full. The connections find the server that takes its place, and it
// has the streams and the port of the old one.
func TestNATSIsStartedAgain(t *testing.T) {
	t.Parallel()
	keys, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(*server.Server){
		"streams": func(s *server.Server) { _ = s.ShutdownJetStream() }, "server": (*server.Server).Shutdown,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := make(lines, 10)
			log := slog.New(slog.NewTextHandler(said, nil))
			n, err := startNATS(bus.Embedded{Dir: t.TempDir(), Listen: "127.0.0.1:0", Keys: keys})
			if err != nil {
				t.Fatal(err)
			}
			s := system{nats: n, ground: boot.Ground{Telemetry: boot.Telemetry{Log: log}}}
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
			go func() { s.keepNATS(watch); close(kept) }()
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
			for _, want := range []string{"NATS does not work; starting it again", "NATS runs again"} {
				select {
				case line := <-said:
					if !strings.Contains(line, want) {
						t.Errorf("the log says %s", line)
					}
				case <-ctx.Done():
					t.Fatalf("the log does not say %s", want)
				}
			}
			stop()
			<-kept
			n.stop()
			if len(said) > 0 {
				t.Errorf("the log also says %s", <-said)
			}
		})
	}
}

// lines is a writer that sends on what it gets.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
