// Package gateway is the one port of the platform. It serves REST, gRPC, gRPC-Web and
// Connect for every method whose contract has a REST path, the pages, and the reference of
// the API. It reads the contracts when it starts and has no code for any one method. It
// finds the caller and decodes the request; the service that owns the data checks both.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"herald/gateway/authn"
	"herald/gateway/internal/documents"
	"herald/gateway/internal/httpcache"
	"herald/gateway/internal/writebudget"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/rpc"
)

// stopLimit is how long requests under way may take when the gateway stops.
const stopLimit = 10 * time.Second

var (
	errStopping = errors.New("stopping")
	errAway     = errors.New("not connected to NATS")
)

// Config is what operators decide about the gateway.
type Config struct {
	Listen string `env:"HERALD_LISTEN" envDefault:"127.0.0.1:8080" help:"address of the port for everybody; port 0 takes one that is free"`
	// Proxies is a list with commas.
	Proxies string `env:"HERALD_TRUSTED_PROXIES" help:"addresses and ranges, such as 10.0.0.0/8, of the proxies whose X-Forwarded-For says where requests come from, with commas between them"`
}

// Gateway is the port. New opens it, Run serves it.
type Gateway struct {
	conn     *nats.Conn
	listener *net.TCPListener
	server   *http.Server
	stopping context.Context
	stop     context.CancelFunc
}

// New logs in to the bus, reads the contracts that are linked into the program and opens
// the port.
func New(ctx context.Context, ground boot.Ground, c Config) (*Gateway, error) {
	log := ground.Log.With("service", bus.Gateway)
	conn, err := bus.Connect(ctx, ground.Bus.As(bus.Gateway, ground.Keys), log)
	if err != nil {
		return nil, err
	}
	g := &Gateway{conn: conn}
	g.stopping, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	e := &edge{
		log: log, tracer: ground.Traces.Tracer(bus.Gateway), health: ground.Health, stopping: g.stopping,
		turns: newTurns(), now: ground.Now, shared: httpcache.New(ground.Now),
	}
	if e.proxies, err = parseProxies(c.Proxies); err != nil {
		conn.Close()
		return nil, err
	}
	if err := g.open(e, ground, c.Listen); err != nil {
		conn.Close()
		return nil, fmt.Errorf("gateway: %w", err)
	}
	ground.Health.Check(bus.Gateway, g.ready)
	return g, nil
}

func (g *Gateway) open(e *edge, ground boot.Ground, listen string) error {
	signer := caller.NewSigner(ground.Keys, ground.Now)
	e.calls = rpc.NewConn(g.conn, signer, bus.Gateway, e.log)
	methods, err := contract.AllMethods()
	if err != nil {
		return err
	}
	e.seconds = rpc.Seconds(ground.Metrics, "herald_http_seconds",
		"Time from taking a request to the end of its answer, by route and HTTP status.", "route", "status")
	if err = e.mount(methods); err != nil {
		return err
	}
	if e.documents, err = documents.New(ground.PublicURL); err != nil {
		return err
	}
	e.callers, err = authn.New(authn.Config{Conn: g.conn, Calls: e.calls, Signer: signer, Now: ground.Now})
	if err != nil {
		return err
	}
	g.server = newServer(writebudget.New(writebudget.PerPort).Handler(e), e.log)
	address, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return fmt.Errorf("HERALD_LISTEN: %w", err)
	}
	g.listener, err = net.ListenTCP("tcp", address)
	return err
}

func (g *Gateway) ready(context.Context) error {
	switch {
	case g.stopping.Err() != nil:
		return errStopping
	case !g.conn.IsConnected():
		return errAway
	}
	return nil
}

// Addr is the address that the gateway listens on.
func (g *Gateway) Addr() net.Addr { return g.listener.Addr() }

// Run serves until ctx ends. It then reports not ready, ends imports early, waits for the requests
// under way at most 10 s, and leaves the bus last, because they need it.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.conn.Close()
	failed := make(chan error, 1)
	go func() { failed <- g.server.Serve(plainless{g.listener}) }()
	select {
	case err := <-failed:
		return fmt.Errorf("gateway: %w", err)
	case <-ctx.Done():
	}
	g.stop()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if g.server.Shutdown(limit) != nil {
		return g.server.Close()
	}
	return nil
}
