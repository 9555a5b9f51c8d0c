package domain

import (
	"hash/maphash"
	"sync"
	"time"
)

// maxKeys bounds the memory of a Limit, at about 3 MiB for each of its two maps.
const maxKeys = 1 << 16

// Limit limits how often something is done under a key, such as the address of a client, within a span of time. The
// span of a key begins with its first use. Limit counts in memory: each process has its own counts, and a restart
// resets them. If a span has more than 65,536 keys, the oldest may be forgotten. Limit is safe for concurrent use.
type Limit struct {
	most int
	span time.Duration
	now  func() time.Time
	seed maphash.Seed

	mu sync.Mutex
	// A key is in recent after its first use. When recent is full or a span old, it becomes older, and the keys of the
	// previous older are forgotten.
	recent, older map[uint64]*uses
	begun         time.Time
}

type uses struct {
	since time.Time
	n     int
}

// NewLimit returns a Limit of most uses of a key in a span.
func NewLimit(most int, span time.Duration, now func() time.Time) *Limit {
	return &Limit{most: most, span: span, now: now, seed: maphash.MakeSeed(), recent: map[uint64]*uses{}, begun: now()}
}

// Take counts one use of a key. It returns zero if that is allowed, else how long the key must wait.
// A use that is not allowed is not counted.
func (l *Limit) Take(key string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	u, now := l.find(key), l.now()
	switch {
	case u == nil || now.Sub(u.since) >= l.span:
		l.add(key, now)
		return 0
	case u.n < l.most:
		u.n++
		return 0
	}
	return max(u.since.Add(l.span).Sub(now), time.Second)
}

// Return removes one use that shall not count. If the key has no use left, its next use begins a span.
func (l *Limit) Return(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := l.find(key); u != nil && u.n > 0 {
		if u.n--; u.n == 0 {
			u.since = time.Time{}
		}
	}
}

func (l *Limit) find(key string) *uses {
	hash := maphash.String(l.seed, key)
	if u := l.recent[hash]; u != nil {
		return u
	}
	return l.older[hash]
}

func (l *Limit) add(key string, now time.Time) {
	if len(l.recent) >= maxKeys || now.Sub(l.begun) >= l.span {
		l.older, l.recent, l.begun = l.recent, map[uint64]*uses{}, now
	}
	l.recent[maphash.String(l.seed, key)] = &uses{now, 1}
}
