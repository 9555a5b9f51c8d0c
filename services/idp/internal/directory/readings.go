package directory

import (
	"context"
	"sync"
	"time"

	"herald/shared/gen/fault/idpfault"
)

// most is how many documents are kept.
const most = 1000

// readings are documents of the directory by their address. Strangers cause them, because each login that somebody
// begins needs them. So each address is read only once at a time, and after a failure only after refreshPause.
type readings[T any] struct {
	mu     sync.Mutex
	good   map[string]T
	failed map[string]failure
	begun  map[string]*reading[T]
}

// failure is a reading that failed.
type failure struct {
	err error
	at  time.Time
}

// reading is a reading that has begun. The result is there when done is closed.
type reading[T any] struct {
	done   chan struct{}
	result T
	err    error
}

// kept returns what was read last from an address.
func (r *readings[T]) kept(address string) (document T, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	document, there = r.good[address]
	return document, there
}

// read returns what get reads from an address, or the error of its last reading. The reading does not end with ctx: if
// the person leaves, the others still learn that the directory hangs.
func (r *readings[T]) read(
	ctx context.Context, address string, now func() time.Time, get func(context.Context) (T, error),
) (none T, err error) {
	r.mu.Lock()
	last, failed := r.failed[address]
	if failed && now().Sub(last.at) < refreshPause {
		r.mu.Unlock()
		return none, last.err
	}
	one, begun := r.begun[address]
	if !begun {
		one = &reading[T]{done: make(chan struct{})}
		set(&r.begun, address, one)
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deadline)
			defer cancel()
			one.result, one.err = get(ctx)
			r.end(address, one, now())
		}()
	}
	r.mu.Unlock()
	select {
	case <-one.done:
		return one.result, one.err
	case <-ctx.Done():
		return none, idpfault.ErrIdpAway.Because(ctx.Err())
	}
}

// end keeps the result of a reading.
func (r *readings[T]) end(address string, one *reading[T], now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one.err != nil {
		set(&r.failed, address, failure{one.err, now})
	} else {
		set(&r.good, address, one.result)
	}
	delete(r.begun, address)
	close(one.done)
}

// set adds to a map. It begins anew with a map that is full.
func set[T any](to *map[string]T, key string, value T) {
	if *to == nil || len(*to) >= most {
		*to = map[string]T{}
	}
	(*to)[key] = value
}
