package delivery

import (
	"time"

	"herald/services/notification/internal/store"
)

// gate limits sending while no mail can be sent. The reason may be that the mail server, users or text cannot be
// reached, that the mail server refuses us, or that it does not answer the final dot. While the gate is closed, one
// mail at a time is tried, with pauses between the tries.
type gate struct {
	pause time.Duration // 0 while open
	// rest is a timer that ends the pause before the next probe; nil outside of a pause.
	rest <-chan time.Time
	// probe is the mail that is tried while the gate is closed.
	probe store.Hold
	// answered is set if the mail server answered the last final dot that is known. A mail that may have been delivered
	// is sent again only while answered is set.
	answered bool
	// unanswered is how many mails the mail server has not answered at the final dot since the gate closed for that
	// reason. Each may be delivered twice.
	unanswered int
	// doubts is how often the gate has closed for that reason.
	doubts int
	// look is a timer that ends the pause before the mail server is asked whether it takes connections; nil for none.
	look <-chan time.Time
	// looking is set while it is asked. gone is set if it took none, and excused if it took them again later.
	looking, gone, excused bool
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

// finished closes the gate after the first blocked or unanswered mail. It opens the gate after the first mail that the
// mail server took. If the gate is closed because of unanswered mails, it opens only when the mail server answers the
// final dot of a mail that was started after the gate closed. Blocked mails that were being sent when the gate closed
// change nothing.
func (g *gate) finished(r result, t Times) turn {
	probed := r.hold == g.probe
	if probed {
		g.probe = store.Hold{}
	}
	switch {
	case r.way == unanswered:
		return g.doubt(t)
	case r.way == blocked && g.pause == 0:
		g.wait(t.Probe)
		return closed
	case r.way == blocked && probed:
		g.wait(min(2*g.pause, t.MaxProbe))
	case r.way == answered && (g.unanswered == 0 || r.doubts == g.doubts):
		return g.open(true)
	case r.way == taken && g.unanswered == 0:
		return g.open(g.answered)
	}
	return stayed
}

// doubt closes the gate after an unanswered mail. If it is the first, that mail itself may be the cause, so another
// mail is tried soon. After the second the mail server is the cause. Each further try may deliver one more mail twice,
// so the pauses are long.
func (g *gate) doubt(t Times) turn {
	before := g.pause
	if g.unanswered == 0 {
		g.doubts++
	}
	g.answered = false
	if g.unanswered++; g.unanswered == 1 {
		g.wait(t.Probe)
	} else {
		g.wait(t.Doubt)
		g.lookAfter(t.Probe)
	}
	if before > 0 {
		return stayed
	}
	return closed
}

// lookAfter lets the mail server be asked whether it takes connections, unless it has excused itself already.
func (g *gate) lookAfter(pause time.Duration) {
	if !g.looking && !g.excused {
		g.look = time.After(pause)
	}
}

// looks returns whether the mail server is asked now. It is not if the gate has opened meanwhile.
func (g *gate) looks() bool {
	g.look = nil
	g.looking = g.unanswered > 0
	return g.looking
}

// looked records whether the mail server takes connections. If it took none and takes them again, it was ended while
// mails were at the final dot, so the next mail is tried at once. This happens once until the gate opens: a mail server
// may end at every mail.
func (g *gate) looked(err error, t Times) {
	g.looking = false
	switch {
	case g.unanswered == 0 || g.rest == nil:
	case err == nil && g.gone:
		g.excused = true
		g.rest = time.After(0)
	default:
		g.gone = g.gone || err != nil
		g.lookAfter(t.MaxProbe)
	}
}

func (g *gate) wait(pause time.Duration) {
	g.pause = pause
	g.rest = time.After(pause)
}

func (g *gate) open(answered bool) turn {
	before := g.pause
	*g = gate{answered: answered, doubts: g.doubts, looking: g.looking}
	if before > 0 {
		return opened
	}
	return stayed
}
