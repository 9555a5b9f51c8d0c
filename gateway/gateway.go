// Package gateway is the one port of the platform. It serves REST, gRPC, gRPC-Web and Connect for every method whose
// contract has a REST path, the pages, and the reference of the API. It reads the contracts when it starts; only the
// bulk import of users has code of its own. It finds the caller and decodes the request. The service that owns the data
// checks both.
//
// Its layers are, from the top: edge and routes; rest, connect, forward, upload and documents, one for each kind of
// request; dispatch and exchange; authn and transcode. A layer imports only lower layers.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"herald/gateway/internal/authn"
	"herald/gateway/internal/dispatch"
	"herald/gateway/internal/edge"
	"herald/gateway/internal/exchange"
	"herald/gateway/internal/routes"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/eventcache"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/quota"
	"herald/shared/rpc"
)

// stopLimit is how long running requests may take when the gateway stops.
const stopLimit = 10 * time.Second

var errStopping = errors.New("stopping")

// Config is the gateway's settings.
type Config struct {
	Listen string `env:"HERALD_LISTEN" envDefault:"127.0.0.1:8080"`
	// Proxies is a list of addresses and ranges, separated by commas.
	Proxies string `env:"HERALD_TRUSTED_PROXIES"`
	// Certificate and Key are the files of TLS, or empty.
	Certificate string `env:"HERALD_TLS_CERT_FILE"`
	Key         string `env:"HERALD_TLS_KEY_FILE"`
	// StopDelay is for how long a gateway that was told to stop goes on as before, but says that it is not ready.
	StopDelay time.Duration `env:"HERALD_STOP_DELAY" envDefault:"0s"`
	edge.ACME
	boot.QuotaSettings
}

// TLS reports whether the port has TLS.
func (c Config) TLS() bool { return c.files() || c.Directory != "" }

// files reports whether the certificate is in files.
func (c Config) files() bool { return c.Certificate != "" || c.Key != "" }

// Help implements boot.Documented.
func (Config) Help() map[string]string {
	return map[string]string{
		"HERALD_LISTEN": "address of the port for everybody; port 0 takes one that is free",
		"HERALD_TRUSTED_PROXIES": "addresses and ranges, such as 10.0.0.0/8, of the proxies whose " +
			"X-Forwarded-For says where requests come from, with commas between them",
		"HERALD_TLS_CERT_FILE": "certificate and its chain in PEM, with which the port takes HTTPS itself; read " +
			"again within a second after it has changed",
		"HERALD_TLS_KEY_FILE": "key of the certificate, in PEM",
		"HERALD_STOP_DELAY": "for how long the gateway goes on answering after it was told to stop, with /readyz " +
			"red, so that what is in front of it sends no more requests; at most 1m, a few seconds with two gateways",
	}
}

// maxStopDelay is shorter than supervisors wait for a program that they have told to stop.
const maxStopDelay = time.Minute

// Gateway is the port. New opens it, Run serves it.
type Gateway struct {
	conn     *nats.Conn
	listener edge.Listener
	issued   *edge.Issued // nil without ACME
	tls      certificate  // nil without TLS
	users    usersv1.InternalClient
	server   *http.Server
	delay    time.Duration
	// leaving ends before stopping, by the delay.
	leaving, stopping context.Context
	leave, stop       context.CancelFunc
}

// New logs in to the bus, reads the contracts that are linked into the program and opens
// the port.
func New(ctx context.Context, ground boot.Ground, c Config) (*Gateway, error) {
	log := ground.Log.With("service", bus.Gateway)
	if c.StopDelay < 0 || c.StopDelay > maxStopDelay {
		return nil, fmt.Errorf("HERALD_STOP_DELAY: %v is not between 0s and %v", c.StopDelay, maxStopDelay)
	}
	conn, err := bus.Connect(ctx, ground.Bus.As(bus.Gateway, ground.Keys), log)
	if err != nil {
		return nil, err
	}
	g := &Gateway{conn: conn, delay: c.StopDelay}
	g.leaving, g.leave = context.WithCancel(context.WithoutCancel(ctx))
	g.stopping, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	ground.Log = log
	if err := g.open(ground, c); err != nil {
		conn.Close()
		return nil, fmt.Errorf("gateway: %w", err)
	}
	ground.Health.Check(bus.Gateway, g.ready)
	return g, nil
}

func (g *Gateway) open(ground boot.Ground, c Config) error {
	signer := caller.NewSigner(ground.Keys, ground.Now)
	services := rpc.NewConn(g.conn, signer, bus.Gateway, ground.Log)
	changes, err := eventcache.Listen(g.conn, ground.Now)
	if err != nil {
		return err
	}
	g.users = usersv1.NewInternalClient(services)
	callers := authn.New(authn.Config{Changes: changes, Calls: services, Signer: signer, Now: ground.Now})
	bytes, err := c.Of(quota.ImportBytes)
	if err != nil {
		return err
	}
	table, err := routes.New(g.stopping, ground, dispatch.New(services, callers), changes.Epoch, bytes)
	if err != nil {
		return err
	}
	e, err := edge.New(ground, table.Find, c.Proxies)
	if err != nil {
		return err
	}
	g.server = edge.NewServer(g.lastOnes(exchange.Bounded(e)), ground.Log)
	address, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("HERALD_LISTEN: %w", err)
	}
	if err := g.secure(ground, c); err != nil {
		return err
	}
	g.listener.TCPListener, err = net.ListenTCP("tcp", address)
	return err
}

func (g *Gateway) ready(ctx context.Context) error {
	if g.leaving.Err() != nil {
		return errStopping
	}
	return bus.Ready(ctx, g.conn)
}

// Addr is the address that the gateway listens on.
func (g *Gateway) Addr() net.Addr { return g.listener.Addr() }

// lastOnes ends the connection of each request that is answered while the gateway leaves. Otherwise a client could send
// the next request at the moment at which the gateway closes the connection, and would not know whether it was served.
func (g *Gateway) lastOnes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.leaving.Err() != nil {
			w.Header().Set("Connection", "close") // in HTTP/2 net/http sends GOAWAY
		}
		next.ServeHTTP(w, r)
	})
}

// Run serves until ctx ends. It then reports not ready and goes on for the delay. After that it ends imports early,
// waits at most 10 s for the running requests, and closes the connection to the bus last, because the requests need it.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.conn.Close()
	failed := make(chan error, 1)
	if g.issued != nil {
		go g.issued.Run(ctx)
	}
	if g.tls != nil {
		go g.noteCertificate(ctx)
	}
	go func() { failed <- g.server.Serve(g.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("gateway: %w", err)
	case <-ctx.Done():
	}
	g.leave()
	select {
	case err := <-failed:
		return fmt.Errorf("gateway: %w", err)
	case <-time.After(g.delay):
	}
	g.stop()
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	if g.server.Shutdown(limit) != nil {
		return g.server.Close()
	}
	return nil
}
