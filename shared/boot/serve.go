package boot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const finishLimit = 10 * time.Second

// ServeHTTP serves a port for operators and developers until ctx ends. Then running requests have at most 10 s to
// finish. It sets the server's time limits, so that clients that send or read too slowly cannot keep their
// connections. A profile of pprof takes longer and extends these limits.
func ServeHTTP(ctx context.Context, l net.Listener, s *http.Server) error {
	s.ReadHeaderTimeout, s.ReadTimeout = 5*time.Second, 45*time.Second
	s.WriteTimeout, s.IdleTimeout = 90*time.Second, 2*time.Minute
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishLimit)
	defer cancel()
	err := s.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	return err
}

// ServeOps opens the operator's port if it is configured. It returns the function that closes the port.
func ServeOps(o Observe, g Ground) (func(), error) {
	if o.OpsListen == "" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", o.OpsListen)
	if err != nil {
		return nil, fmt.Errorf("HERALD_OPS_LISTEN: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		if err := ServeHTTP(ctx, l, &http.Server{Handler: g.Health.Ops(g.Metrics)}); err != nil {
			g.Log.Error("operator's port", "err", err)
		}
	}()
	return stop, nil
}
