package event

import "time"

// Hurry makes a consumer wait less than production does.
func (c *Consumer) Hurry(between, silence time.Duration) { c.pause, c.redeliver = between, silence }
