package allinone

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"

	"herald/shared/bus"
)

// nats is the NATS server in this process, which may be replaced by another one with the same streams and address.
type nats struct {
	bus.Embedded
	current atomic.Pointer[server.Server]
}

func startNATS(e bus.Embedded) (*nats, error) {
	n := &nats{Embedded: e}
	if err := n.start(); err != nil {
		return nil, err
	}
	if e.Listen != "" {
		n.Listen = n.current.Load().Addr().String() // a restart keeps the port, even if the system chose it
	}
	return n, nil
}

func (n *nats) start() error {
	s, err := n.Embedded.Start()
	if err == nil {
		n.current.Store(s)
	}
	return err
}

// InProcessConn connects to the server that runs now.
func (n *nats) InProcessConn() (net.Conn, error) { return n.current.Load().InProcessConn() }

func (n *nats) stop() { bus.Stop(n.current.Load()) }

// restart stops what is left of the server and starts another one.
func (n *nats) restart() error {
	n.stop()
	return n.start()
}

// wait returns why the server does not work, or nil when ctx has ended.
func (n *nats) wait(ctx context.Context) error { return bus.Ended(ctx, n.current.Load()) }
