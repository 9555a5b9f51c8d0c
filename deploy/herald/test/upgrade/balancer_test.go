package upgrade_test

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// checks is how often a balancer asks a gateway whether it is ready.
const checks = 100 * time.Millisecond

// balancer chooses a gateway for each request, as a balancer in front of Herald does: in turn, of those that are ready.
type balancer struct {
	http     *http.Transport
	gateways []*gateway
	mu       sync.Mutex
	turn     int
}

// gateway is one behind a balancer.
type gateway struct {
	url string
	// ready is the answer of the last check, out is set while the operator keeps requests away.
	ready, out bool
	underWay   sync.WaitGroup
}

// watch asks a gateway again and again whether it is ready, until the context ends.
func (b *balancer) watch(ctx context.Context, g *gateway) {
	tick := time.NewTicker(checks)
	defer tick.Stop()
	for ctx.Err() == nil {
		ready := b.check(ctx, g)
		b.mu.Lock()
		g.ready = ready
		b.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (b *balancer) check(ctx context.Context, g *gateway) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	w, err := b.http.RoundTrip(r)
	if err != nil {
		return false
	}
	_ = w.Body.Close()
	return w.StatusCode == http.StatusOK
}

// choose returns a gateway for a request, or nil if none is ready. The request ends with Done of its underWay.
func (b *balancer) choose() *gateway {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.gateways {
		b.turn++
		if g := b.gateways[b.turn%len(b.gateways)]; g.ready && !g.out {
			g.underWay.Add(1)
			return g
		}
	}
	return nil
}

// takeOut sends no more requests to a gateway, and waits for the answers of those that are under way.
func (b *balancer) takeOut(g *gateway) {
	b.set(g, true)
	g.underWay.Wait()
}

func (b *balancer) set(g *gateway, out bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g.out = out
}
