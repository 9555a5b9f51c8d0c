package main

import (
	"fmt"
	"slices"
	"time"
)

const (
	// gapTimeout is how long a missing number may still come. Simultaneous changes are published in the
	// order in which they end.
	gapTimeout = 2 * time.Second
	// most bounds the number of gaps. Beyond it the oldest are reported early.
	most = 4096
)

// gap is a run of numbers of a service's events that have not come.
type gap struct {
	source      string
	first, last int64
	since       time.Time
}

func (g gap) String() string {
	if g.first == g.last {
		return fmt.Sprintf("gap: event %d of %s has not come", g.first, visible(g.source))
	}
	return fmt.Sprintf("gap: %d events of %s between %d and %d have not come",
		g.last-g.first+1, visible(g.source), g.first-1, g.last+1)
}

// counts finds missing numbers among each service's events.
type counts struct {
	highest map[string]int64
	missing []gap // the oldest first
}

// came records the number of an event. Numbers before the first event that came do not count as missing.
func (c *counts) came(source string, n int64, now time.Time) {
	highest, known := c.highest[source]
	if !known || n > highest {
		c.highest[source] = n
		if known && n > highest+1 {
			c.missing = append(c.missing, gap{source, highest + 1, n - 1, now})
		}
		return
	}
	for i, g := range c.missing {
		if g.source != source || n < g.first || n > g.last {
			continue
		}
		var rest []gap
		if g.first < n {
			rest = append(rest, gap{source, g.first, n - 1, g.since})
		}
		if n < g.last {
			rest = append(rest, gap{source, n + 1, g.last, g.since})
		}
		c.missing = slices.Replace(c.missing, i, i+1, rest...)
		return
	}
}

// due removes and returns the gaps whose numbers did not come in time.
func (c *counts) due(now time.Time) []gap {
	n := max(0, len(c.missing)-most)
	for n < len(c.missing) && now.Sub(c.missing[n].since) >= gapTimeout {
		n++
	}
	reported := c.missing[:n]
	c.missing = slices.Clone(c.missing[n:])
	return reported
}
