package retry

import (
	"log/slog"
	"time"
)

// Slowness is how long a task of the start may take before the log says what it waits for.
const Slowness = 5 * time.Second

// Slow logs what a task waits for if this takes longer than Slowness. The caller calls done with its error when the
// wait is over. Then it logs how long that took, and the error.
func Slow(log *slog.Logger, what string) (done func(*error)) {
	begin := time.Now()
	long := time.AfterFunc(Slowness, func() { log.Warn("still waiting", "until", what) })
	return func(err *error) {
		if long.Stop() {
			return
		}
		took := time.Since(begin).Round(time.Millisecond).String()
		if *err != nil {
			log.Warn("the wait has failed", "until", what, "took", took, "err", *err)
			return
		}
		log.Info("the wait is over", "until", what, "took", took)
	}
}
