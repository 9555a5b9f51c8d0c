// Package gateway is the one port of the platform: REST, gRPC, gRPC-Web and Connect
// for every method whose contract has a REST path, and the pages. It reads the
// contracts when it starts and has no code for any one method. It decides who asks
// and whether a request can be read; whether it is allowed and right, the service
// that owns the data decides.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"herald/gateway/authn"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/rpc"
)

// stopLimit is how long requests under way may take when the gateway stops.
const stopLimit = 10 * time.Second

var errStopping = errors.New("stopping")

// Config is what operators decide about the gateway.
type Config struct {
	Listen    string `env:"HERALD_LISTEN" envDefault:"127.0.0.1:8080" help:"address of the port for everybody; port 0 takes one that is free"`
	PublicURL string `env:"HERALD_PUBLIC_URL" help:"the address that browsers and mails use, such as https://id.example.com; empty stands for http://localhost and the port of HERALD_LISTEN"`
}

// Origin is the public address: scheme, host and port, without a slash at its end.
func (c Config) Origin() (string, error) {
	if c.PublicURL == "" {
		_, port, err := net.SplitHostPort(c.Listen)
		if err != nil {
			return "", fmt.Errorf("HERALD_LISTEN: %w", err)
		}
		return "http://localhost:" + port, nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return "", errors.New("HERALD_PUBLIC_URL: want http(s)://host, with a port if need be and nothing after it")
	}
	return u.Scheme + "://" + u.Host, nil
}

// Gateway is the port, open from New on and served by Run.
type Gateway struct {
	conn     *nats.Conn
	listener net.Listener
	server   *http.Server
	stopping atomic.Bool
}

// New logs in to the bus, reads the contracts that are linked into the program and
// takes the port.
func New(ctx context.Context, g boot.Ground, c Config) (*Gateway, error) {
	if _, err := c.Origin(); err != nil {
		return nil, err
	}
	address := g.Bus
	address.User, address.Password = bus.Gateway, bus.Password(g.Keys, bus.Gateway)
	conn, err := bus.Connect(ctx, address, g.Log.With("service", bus.Gateway))
	if err != nil {
		return nil, err
	}
	w := &Gateway{conn: conn}
	if err := w.open(ctx, g, c); err != nil {
		conn.Close()
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.Health.Check(bus.Gateway, w.ready)
	return w, nil
}

func (w *Gateway) open(ctx context.Context, g boot.Ground, c Config) error {
	signer := caller.NewSigner(g.Keys, g.Now)
	calls := rpc.NewConn(w.conn, signer, bus.Gateway)
	callers, err := authn.New(authn.Config{Conn: w.conn, Calls: calls, Signer: signer, Now: g.Now})
	if err != nil {
		return err
	}
	methods, err := rpc.Contracts()
	if err != nil {
		return err
	}
	e := &edge{
		log: g.Log.With("service", bus.Gateway), tracer: g.Traces.Tracer(bus.Gateway),
		health: g.Health, callers: callers, calls: calls,
	}
	if err := e.mount(methods); err != nil {
		return err
	}
	w.server = newServer(e, e.log)
	w.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	return err
}

func (w *Gateway) ready(context.Context) error {
	switch {
	case w.stopping.Load():
		return errStopping
	case !w.conn.IsConnected():
		return errors.New("not connected to NATS")
	}
	return nil
}

// Addr is the address that the gateway listens on.
func (w *Gateway) Addr() net.Addr { return w.listener.Addr() }

// Run serves until ctx ends. It then stops in two phases: not ready any more and the
// requests under way, then the bus that they need.
func (w *Gateway) Run(ctx context.Context) error {
	defer w.conn.Close()
	failed := make(chan error, 1)
	go func() { failed <- w.server.Serve(plainless{w.listener}) }()
	select {
	case err := <-failed:
		return fmt.Errorf("gateway: %w", err)
	case <-ctx.Done():
	}
	w.stopping.Store(true)
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if w.server.Shutdown(limit) != nil {
		return w.server.Close()
	}
	return nil
}
