package authn

import (
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/caller"
)

const (
	// believed is how long an answer counts without being asked for again.
	believed = 2 * time.Second
	// remembered is how many answers are kept. They are short-lived: when there are
	// more, starting afresh costs one question each.
	remembered = 10_000
)

// entry is a caller as users described it.
type entry struct {
	caller caller.Caller
	header string
	// from is when the question was put, reconnects the bus's count at that time.
	from       time.Time
	reconnects uint64
}

type cache struct {
	mu      sync.RWMutex
	entries map[key]entry
	// drops counts the drops: an answer to a question from before the last one is not kept.
	drops uint64
}

func newCache() *cache { return &cache{entries: map[key]entry{}} }

// find answers with an entry that may be believed. While the connection is away, or
// was since, events may have been missed.
func (c *cache) find(k key, now time.Time, nc *nats.Conn) (entry, bool) {
	c.mu.RLock()
	e, ok := c.entries[k]
	c.mu.RUnlock()
	ok = ok && now.Sub(e.from) < believed && e.reconnects == nc.Stats().Reconnects && nc.IsConnected()
	return e, ok
}

func (c *cache) epoch() uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.drops
}

func (c *cache) keep(k key, e entry, epoch uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.drops {
		return
	}
	if len(c.entries) >= remembered {
		clear(c.entries)
	}
	c.entries[k] = e
}

func (c *cache) remove(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, k)
	c.drops++
}

// drop forgets a user, or everybody where the id is empty.
func (c *cache) drop(userID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	for k, e := range c.entries {
		if userID == "" || e.caller.UserID == userID {
			delete(c.entries, k)
		}
	}
}
