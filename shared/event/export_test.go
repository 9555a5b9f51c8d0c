package event

import "time"

// Hurry makes a consumer wait less than production does.
func (c *Consumer) Hurry(between, silence time.Duration) { c.pause, c.redeliver = between, silence }

// Hurry makes a relay tell at once that it holds back.
func (r *Relay) Hurry() { r.delay.patience = time.Nanosecond }

// Bounds are what EVENTS keeps of an event at least, and at most.
func (e Event) Bounds() (int64, int64) { return smallest, e.size() }

// LargestKept is the most that EVENTS keeps of any event.
const LargestKept = largest
