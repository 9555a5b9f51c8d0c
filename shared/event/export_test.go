package event

import "time"

// Hurry shortens the waits of a consumer.
func (c *Consumer) Hurry(between, silence time.Duration) { c.pause, c.redeliver = between, silence }

// Beat sets the interval of heartbeats.
func (c *Consumer) Beat(interval time.Duration) { c.heartbeat = interval }

// Hurry makes a relay report at once that it holds back.
func (r *Relay) Hurry() { r.delay.reportAfter = time.Nanosecond }

// Bounds are what EVENTS keeps of an event at least, and at most.
func (e Event) Bounds() (int64, int64) { return smallest, e.size() }

// LargestKept is the most that EVENTS keeps of any event.
const LargestKept = largest
