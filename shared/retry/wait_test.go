package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"herald/shared/retry"
)

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, signal := time.Now(), make(chan struct{}, 1)
		if !retry.Wait(t.Context(), time.Minute) || time.Since(begin) != time.Minute {
			t.Errorf("waited for %s", time.Since(begin))
		}
		signal <- struct{}{}
		if !retry.WaitSignal(t.Context(), signal, time.Minute) || time.Since(begin) != time.Minute {
			t.Errorf("waited for %s, in spite of a signal", time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if retry.Wait(ctx, time.Minute) || time.Since(begin) != time.Minute+time.Second {
			t.Errorf("waited for %s, longer than the context", time.Since(begin))
		}
	})
}

func TestExtend(t *testing.T) {
	t.Parallel()
	errLate := errors.New("late")
	late := func(context.Context) (time.Duration, error) { return time.Minute, errLate }
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		longer, stop := retry.Extend(ctx, late)
		stopped, stopEarly := retry.Extend(ctx, late)
		if !retry.Wait(longer, time.Hour) {
			t.Error("ended before its context")
		}
		begin := time.Now()
		cancel()
		synctest.Wait()
		stopEarly()
		if err := context.Cause(stopped); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped because of %v", err)
		}
		<-longer.Done()
		if took := time.Since(begin); took != time.Minute || !errors.Is(context.Cause(longer), errLate) {
			t.Errorf("ended after %s because of %v", took, context.Cause(longer))
		}
		stop()
	})
}
