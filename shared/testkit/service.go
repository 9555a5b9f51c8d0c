package testkit

import (
	"context"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/rpc"
	"herald/shared/secret"
)

// Ground starts a NATS server for one test and returns what services need to start.
func Ground(t testing.TB) boot.Ground {
	t.Helper()
	g, server := newGround(t, "", keys())
	g.Bus = bus.Address{Server: server}
	return g
}

// Reachable is like Ground, for tests that start processes. These processes reach the server by its URL.
func Reachable(t testing.TB, keys secret.Keys) boot.Ground {
	t.Helper()
	g, server := newGround(t, "127.0.0.1:0", keys)
	g.Bus = bus.Address{URL: server.ClientURL()}
	return g
}

func newGround(t testing.TB, listen string, keys secret.Keys) (boot.Ground, *server.Server) {
	t.Helper()
	nats, err := bus.Embedded{Dir: t.TempDir(), Listen: listen, Keys: keys}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Stop(nats) })
	telemetry, err := boot.NewTelemetry(t.Context(), boot.Observe{LogLevel: slog.LevelInfo}, "test", Output(t))
	if err != nil {
		t.Fatal(err)
	}
	return boot.Ground{
		Telemetry: telemetry, Health: boot.NewHealth(), Keys: keys,
		PublicURL: &url.URL{Scheme: "http", Host: "localhost:8080"},
		Streams:   event.StreamConfig{MaxBytes: 64 << 20, Replicas: 1}, Now: time.Now, Pairs: secret.NewPairs(),
	}, nats
}

// Go runs a task until stop is called or the test ends. Both wait until the task has ended.
func Go(t testing.TB, task func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { task(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

// Run is like Go, for a service.
func Run(t testing.TB, s *boot.Service) (stop func()) { return Go(t, s.Run) }

// As returns a context for calls by the caller c, as the gateway makes them. Use it with the connection of Calls.
func As(ctx context.Context, g boot.Ground, c caller.Caller) context.Context {
	return rpc.WithSigned(ctx, caller.NewSigner(g.Keys, g.Now).Sign(c))
}

// Member is like As, for a user who has roles in the organization that the request acts on.
func Member(ctx context.Context, g boot.Ground, userID, orgID string, roles ...string) context.Context {
	return As(ctx, g, caller.Caller{
		UserID: userID, OrganizationID: orgID, HomeOrganizationID: orgID,
		Memberships: []caller.Membership{{OrganizationID: orgID, Roles: roles}},
	})
}

// Connect connects as a NATS user, such as a service or the gateway, until the test ends.
func Connect(t testing.TB, g boot.Ground, user string) *nats.Conn {
	t.Helper()
	nc, err := bus.Connect(t.Context(), g.Bus.As(user, g.Keys), g.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Calls connects as a NATS user and returns a connection for generated clients.
func Calls(t testing.TB, g boot.Ground, user string) *rpc.Conn {
	t.Helper()
	return rpc.NewConn(Connect(t, g, user), caller.NewSigner(g.Keys, g.Now), user, g.Log)
}

// Server replaces a service in a test.
type Server struct {
	*nats.Conn
	// Stop waits until running requests are answered and closes the connection to NATS.
	Stop func()
}

// Serve answers the requests to another service on NATS, until the test ends or the server is stopped. The
// implementation must have the methods of all contracts.
func Serve(
	t testing.TB, g boot.Ground, service string, implementation any, contracts ...*grpc.ServiceDesc,
) Server {
	t.Helper()
	nc := Connect(t, g, service)
	s := rpc.NewServer(rpc.Config{
		Conn: nc, Signer: caller.NewSigner(g.Keys, g.Now), Log: g.Log, Metrics: g.Metrics,
		Tracer: g.Traces.Tracer(service), Now: g.Now,
	})
	for _, c := range contracts {
		if err := s.Register(c, implementation); err != nil {
			t.Fatal(err)
		}
	}
	stop := sync.OnceFunc(func() { s.Drain(); nc.Close() })
	t.Cleanup(stop)
	return Server{nc, stop}
}

// Logged returns a ground whose services log to w.
func Logged(t testing.TB, g boot.Ground, level slog.Level, w io.Writer) boot.Ground {
	t.Helper()
	telemetry, err := boot.NewTelemetry(t.Context(), boot.Observe{LogLevel: level}, "test", w)
	if err != nil {
		t.Fatal(err)
	}
	g.Telemetry = telemetry
	return g
}
