package testkit

import (
	"sync/atomic"
	"time"
)

// Clock is a time that a test can stop and advance. The zero Clock has the time of the machine.
type Clock struct {
	ahead atomic.Int64
	// still is the time at which the clock was stopped; nil while it runs.
	still atomic.Pointer[time.Time]
}

// ClockAt returns a clock that is stopped at a time.
func ClockAt(at time.Time) *Clock {
	var c Clock
	c.still.Store(&at)
	return &c
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	now := time.Now()
	if still := c.still.Load(); still != nil {
		now = *still
	}
	return now.Add(time.Duration(c.ahead.Load()))
}

// Stop stops the clock, so that nothing expires because a machine is slow.
func (c *Clock) Stop() {
	now := time.Now()
	c.still.Store(&now)
}

// Advance sets the clock forward.
func (c *Clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }
