package gateway

import (
	"context"
	"net/http"
	"time"
)

// watchEvery is how often a stream looks whether its client is still there.
const watchEvery = 200 * time.Millisecond

// connKey is the key of a request's connection in its context.
type connKey struct{}

// watchClient calls gone if the client of a request closes the connection before ctx ends. net/http notices that only
// after the last byte of the body, which a stream reads no faster than it is done.
func watchClient(ctx context.Context, r *http.Request, gone func()) {
	c, ok := r.Context().Value(connKey{}).(*plainlessConn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	go func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if closed(raw) {
					gone()
					return
				}
			}
		}
	}()
}
