package password

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/unicode/norm"

	"herald/shared/fault"
)

const (
	// maxHeld is how many refusals wait at the same time.
	maxHeld = 64
	// maxRefusal is how long a refusal takes at most. The checks of the slowest hashes take longer.
	maxRefusal = 3 * time.Second
	// spare is how long before the deadline of a request a refusal is sent.
	spare = 500 * time.Millisecond
	// maxMeasuring is how long the measurement of a hash may wait for its turn.
	maxMeasuring = time.Minute
	// unknownSpeed is used until the speed of this machine is measured. It is that of a slow one.
	unknownSpeed = 4
	// specimenPart is the part of the time of a new hash's check: a hash whose check takes longer has a specimen.
	specimenPart = 8
)

// refusals makes all refusals equally slow.
type refusals struct {
	held chan struct{}

	mu     sync.Mutex
	speeds map[string]float64 // by specimen: the measured time of a check, divided by the estimated one
}

// Specimen returns a hash of the same format and parameters with neither the salt nor the key, and an estimate of how
// long its check takes. A hash has one if its check takes over an eighth of the time of a new hash's.
func (h Hash) Specimen() (format, specimen string, estimate time.Duration, slow bool) {
	if h.IsZero() {
		return "", "", 0, false
	}
	encoded, kept := h.open()
	f, _ := formatOf(encoded)
	estimate = kept.takes(typical)
	return f.name, f.blank(encoded), estimate, estimate > unfilled().takes(typical)/specimenPart
}

// typical is the length of a password for which hashes are compared and measured.
const typical = 16

// blank returns an encoded hash with dots in place of its salt and key.
func (f format) blank(encoded string) string {
	var kept int
	switch f.name {
	case "bcrypt":
		kept = len("$2b$12$")
	case "phpass":
		kept = len("$P$B")
	default:
		kept = strings.LastIndexByte(encoded, '$')
		key := len(encoded) - kept - 1
		kept = strings.LastIndexByte(encoded[:max(kept, 0)], '$') + 1
		salt := len(encoded) - kept - key - 1
		return encoded[:kept] + strings.Repeat(".", max(salt, 0)) + "$" + strings.Repeat(".", key)
	}
	return encoded[:kept] + strings.Repeat(".", len(encoded)-kept)
}

// Refuse waits until a refusal of a password may be sent, so that the time shows neither the format of the hash nor
// whether there is one. began is when the request arrived. The refusal takes longer than the check of the slowest
// specimen, and than that of a quick hash together with a new one. Nobody else waits for it, because it holds no place
// in which passwords are derived. It returns fault.ErrOverloaded if too many refusals wait.
func (h *Hasher) Refuse(ctx context.Context, began time.Time, specimens []string, password string) error {
	until := began.Add(h.floor(specimens, password))
	if end, limited := ctx.Deadline(); limited && end.Add(-spare).Before(until) {
		until = end.Add(-spare)
	}
	select {
	case h.refusals.held <- struct{}{}:
		defer func() { <-h.refusals.held }()
	default:
		return fault.ErrOverloaded
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// floor returns how long a refusal of a password takes. It depends on nothing but the password, the specimens and how
// quick they were when this machine measured them.
func (h *Hasher) floor(specimens []string, password string) time.Duration {
	longest := 2 * h.checks("", unfilled(), password)
	for _, encoded := range specimens {
		if specimen, err := Parse(encoded); err == nil && !specimen.IsZero() {
			_, kept := specimen.open()
			longest = max(longest, h.checks(encoded, kept, password))
		}
	}
	if norm.NFC.String(password) != password { // both spellings are derived
		longest *= 2
	}
	return min(longest*3/2, maxRefusal)
}

// checks returns how long a check takes here. The first time, it begins to measure that, and until it is known a slow
// machine is assumed.
func (h *Hasher) checks(specimen string, s scheme, password string) time.Duration {
	h.refusals.mu.Lock()
	defer h.refusals.mu.Unlock()
	speed, known := h.refusals.speeds[specimen]
	if !known {
		speed = unknownSpeed
		h.refusals.speeds[specimen] = speed
		go h.measure(specimen, s)
	}
	return time.Duration(float64(s.takes(len(password))) * speed)
}

// measure derives keys in the places of slow hashes, to learn how long a check takes. If there is no room for it, the
// next refusal tries again.
func (h *Hasher) measure(specimen string, s scheme) {
	ctx, cancel := context.WithTimeout(context.Background(), maxMeasuring)
	defer cancel()
	took := time.Duration(0)
	err := do(ctx, h.slow, func() { took = measured(s) })
	h.refusals.mu.Lock()
	defer h.refusals.mu.Unlock()
	if err != nil {
		delete(h.refusals.speeds, specimen)
		return
	}
	h.refusals.speeds[specimen] = float64(took) / float64(max(s.takes(typical), time.Microsecond))
}

// measured returns the shortest of some times that a check takes.
func measured(s scheme) time.Duration {
	shortest, begun := time.Hour, time.Now()
	for n := 0; n < 5 && (n == 0 || time.Since(begun) < time.Second/2); n++ {
		start := time.Now()
		s.matches([]byte(strings.Repeat("x", typical)))
		shortest = min(shortest, time.Since(start))
	}
	return shortest
}
