package authn

import (
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/caller"
)

const (
	// maxAge is how long an answer is used.
	maxAge = 2 * time.Second
	// maxPasses is how many answers are kept. A full cache is emptied: asking again costs one
	// question each.
	maxPasses = 10_000
	// maxDone is how many drops are remembered to recognize their repeats: more than there are
	// changes in the time between a wake-up and the stream. A repeat that is not recognized only
	// costs a question.
	maxDone = 256
)

type cache struct {
	mu     sync.RWMutex
	passes map[key]Pass
	// drops counts the drops. An answer to a question from before the last drop is not kept.
	drops uint64
	// done is a ring of the last drops; next is the index of the next.
	done [maxDone]drop
	next int
}

// drop says whose passes an event drops: a user's, or those with tokens of an application or of a project's
// applications. Without any of these ids it drops all.
type drop struct{ eventID, userID, appID, projectID string }

func (d drop) concerns(c caller.Caller) bool {
	switch {
	case d.userID != "":
		return c.UserID == d.userID
	case d.appID != "":
		return c.ClientID == d.appID
	case d.projectID != "":
		return c.ClientProjectID == d.projectID
	}
	return true
}

func newCache() *cache { return &cache{passes: map[key]Pass{}} }

// find returns a pass that may be used. It finds none if the connection is lost, or was lost
// since the pass was asked for: events may have been missed.
func (c *cache) find(k key, now time.Time, nc *nats.Conn) (Pass, bool) {
	c.mu.RLock()
	p, ok := c.passes[k]
	c.mu.RUnlock()
	p.Cached = true
	return p, ok && now.Sub(p.asked) < maxAge && p.reconnects == nc.Stats().Reconnects && nc.IsConnected()
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
	if len(c.passes) >= maxPasses {
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

// drop removes the passes that d names, unless it has done so already. Every event comes twice,
// both times after its commit. Once the first has come, older answers are gone or are not kept,
// and newer ones know the change: so the second need not drop anything.
func (c *cache) drop(d drop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.eventID != "" && slices.Contains(c.done[:], d) {
		return
	}
	c.done[c.next], c.next = d, (c.next+1)%maxDone
	c.drops++
	for k, p := range c.passes {
		if d.concerns(p.caller) {
			delete(c.passes, k)
		}
	}
}
