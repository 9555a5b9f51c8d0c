package delivery

import (
	"time"

	"herald/services/notification/internal/store"
)

// gate lets one mail out at a time, after growing pauses, while none can be sent: the
// relay is away or refuses us, or those who know what the mail says are away.
type gate struct {
	pause time.Duration // 0 while open
	// rest ends the pause before the next probe; nil outside of it.
	rest <-chan time.Time
	// probe is the one mail under way through a closed gate.
	probe store.Hold
}

// turn is what a report did to the gate.
type turn int

const (
	stayed turn = iota
	closed
	opened
)

// room says how many of the free workers may be used.
func (g *gate) room(free int) int {
	switch {
	case g.pause == 0:
		return free
	case g.rest != nil || g.probe != store.Hold{}:
		return 0
	default:
		return min(free, 1)
	}
}

func (g *gate) started(h store.Hold) {
	if g.pause > 0 {
		g.probe = h
	}
}

// finished closes the gate at the first mail that found the way blocked and opens it at
// the first that got through. Those that were under way when it closed tell nothing new.
func (g *gate) finished(r result, t Times) turn {
	probed := r.hold == g.probe
	if probed {
		g.probe = store.Hold{}
	}
	switch {
	case r.way == blocked && g.pause == 0:
		g.pause = t.Probe
		g.rest = time.After(g.pause)
		return closed
	case r.way == blocked && probed:
		g.pause = min(2*g.pause, t.MaxProbe)
		g.rest = time.After(g.pause)
	case r.way == taken && g.pause > 0:
		*g = gate{}
		return opened
	}
	return stayed
}
