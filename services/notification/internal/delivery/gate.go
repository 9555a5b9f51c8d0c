package delivery

import (
	"time"

	"herald/services/notification/internal/store"
)

// gate limits sending while no mail can be sent, because the relay, users or text are away, or the
// relay refuses us or does not answer the final dot. A closed gate lets one mail at a time try, after
// pauses.
type gate struct {
	pause time.Duration // 0 while open
	// rest is a timer that ends the pause before the next probe; nil outside of a pause.
	rest <-chan time.Time
	// probe is the mail that a closed gate lets try.
	probe store.Hold
	// heard is set while the relay answers final dots, as far as is known. Only then are mails sent
	// again that may have been delivered.
	heard bool
	// unheard is how many mails the relay has not answered at the final dot since the gate closed for
	// that reason. Each may be delivered twice.
	unheard int
	// doubts is how often the gate has closed for that reason.
	doubts int
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

// finished closes the gate after the first blocked or unheard mail. It opens the gate after the first
// mail that the relay took; one that is closed for unheard mails only after an answer to the final dot
// of a mail that was started since. It ignores blocked mails that were being sent when the gate closed.
func (g *gate) finished(r result, t Times) turn {
	probed := r.hold == g.probe
	if probed {
		g.probe = store.Hold{}
	}
	switch {
	case r.way == unheard:
		return g.doubt(t)
	case r.way == blocked && g.pause == 0:
		g.wait(t.Probe)
		return closed
	case r.way == blocked && probed:
		g.wait(min(2*g.pause, t.MaxProbe))
	case r.way == heard && (g.unheard == 0 || r.doubts == g.doubts):
		return g.open(true)
	case r.way == taken && g.unheard == 0:
		return g.open(g.heard)
	}
	return stayed
}

// doubt closes the gate after an unheard mail. One may be the fault of that mail, so another is tried
// soon. Two are that of the relay: each further try may deliver one more mail twice, so it comes late.
func (g *gate) doubt(t Times) turn {
	before := g.pause
	if g.unheard == 0 {
		g.doubts++
	}
	g.heard = false
	if g.unheard++; g.unheard == 1 {
		g.wait(t.Probe)
	} else {
		g.wait(t.Doubt)
	}
	if before > 0 {
		return stayed
	}
	return closed
}

func (g *gate) wait(pause time.Duration) {
	g.pause = pause
	g.rest = time.After(pause)
}

func (g *gate) open(heard bool) turn {
	before := g.pause
	*g = gate{heard: heard, doubts: g.doubts}
	if before > 0 {
		return opened
	}
	return stayed
}
