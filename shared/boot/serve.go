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

// ServeHTTP serves until ctx ends and then lets running requests finish, for at most 10 s.
func ServeHTTP(ctx context.Context, l net.Listener, s *http.Server) error {
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

// ServeOps opens the operator's port, if one is configured, and returns the function that closes it.
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
		if err := ServeHTTP(ctx, l, &http.Server{Handler: g.Health.Ops(g.Metrics),
			ReadHeaderTimeout: 5 * time.Second}); err != nil {
			g.Log.Error("operator's port", "err", err)
		}
	}()
	return stop, nil
}
