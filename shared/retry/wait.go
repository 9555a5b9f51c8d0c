package retry

import (
	"context"
	"time"
)

// Wait waits for d. It returns false if ctx ends first.
func Wait(ctx context.Context, d time.Duration) bool { return WaitSignal(ctx, nil, d) }

// WaitSignal waits for a signal, but at most for d. It returns false if ctx ends first.
func WaitSignal(ctx context.Context, signal <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-signal:
		return true
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Extend returns a context with the values of ctx that ends later than ctx. When ctx ends, ending returns how much
// later and with which cause. stop must be called.
func Extend(
	ctx context.Context, ending func(context.Context) (time.Duration, error),
) (longer context.Context, stop func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		if d, why := ending(ctx); Wait(longer, d) {
			cancel(why)
		}
	})
	return longer, func() {
		forget()
		cancel(nil)
	}
}
