package authn

import (
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// believed is how long an answer counts without being asked for again.
	believed = 2 * time.Second
	// remembered is how many answers are kept. They are short-lived: when there are
	// more, starting afresh costs one question each.
	remembered = 10_000
	// recalled is how many drops are told from their repeats: some more than there are
	// changes in the time between a wake-up and the stream. A repeat that is not recalled
	// costs a question, no more.
	recalled = 256
)

type cache struct {
	mu     sync.RWMutex
	passes map[key]Pass
	// drops counts the drops: an answer to a question from before the last one is not kept.
	drops uint64
	// done are the last drops, in a ring; next is the place of the next.
	done [recalled]drop
	next int
}

// drop is what an event asks for: to forget a user, or everybody where the id is empty.
type drop struct{ eventID, userID string }

func newCache() *cache { return &cache{passes: map[key]Pass{}} }

// find answers with a pass that may be believed. While the connection is away, or was
// since, events may have been missed.
func (c *cache) find(k key, now time.Time, nc *nats.Conn) (Pass, bool) {
	c.mu.RLock()
	p, ok := c.passes[k]
	c.mu.RUnlock()
	p.Cached = true
	return p, ok && now.Sub(p.asked) < believed && p.reconnects == nc.Stats().Reconnects && nc.IsConnected()
}

func (c *cache) epoch() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.drops
}

func (c *cache) keep(p Pass, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.drops {
		return
	}
	if len(c.passes) >= remembered {
		clear(c.passes)
	}
	c.passes[p.key] = p
}

func (c *cache) remove(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.passes, k)
	c.drops++
}

// drop forgets whom it is about, unless it was done a moment ago. News of an event comes
// twice, and both only after its commit: whatever was asked once the first was heard has
// its answer from after the change, and earlier ones are gone or are not kept.
func (c *cache) drop(d drop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.eventID != "" && slices.Contains(c.done[:], d) {
		return
	}
	c.done[c.next], c.next = d, (c.next+1)%recalled
	c.drops++
	for k, p := range c.passes {
		if d.userID == "" || p.caller.UserID == d.userID {
			delete(c.passes, k)
		}
	}
}
