package delivery

import (
	"time"

	"herald/services/notification/internal/store"
)

// gate limits sending while no mail can be sent, because the relay, users or text are away or the
// relay refuses us. A closed gate lets one mail at a time try, after growing pauses.
type gate struct {
	pause time.Duration // 0 while open
	// rest is a timer that ends the pause before the next probe; nil outside of a pause.
	rest <-chan time.Time
	// probe is the mail that a closed gate lets try.
	probe store.Hold
}

// turn is the change of the gate by a report.
type turn int

const (
	stayed turn = iota
	closed
	opened
)

// room returns how many of the free workers may be used.
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

// finished closes the gate after the first blocked mail, and opens it after the first mail that
// the relay took. It ignores blocked mails that were being sent when the gate closed.
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
