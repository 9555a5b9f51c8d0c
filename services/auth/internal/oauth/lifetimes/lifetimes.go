// Package lifetimes knows how long tokens of the instance are valid, which may change while the process runs.
package lifetimes

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/shared/postgres"
	"herald/shared/retry"
)

// readLimit is how long a request waits until the lifetimes are read after an event.
const readLimit = 3 * time.Second

// Lifetimes are those of the instance. They are safe for concurrent use.
type Lifetimes struct {
	store       store.Store
	environment domain.Settings
	epoch       func() uint64
	known       atomic.Pointer[known]
	// reading has an element while a goroutine reads the lifetimes.
	reading chan struct{}
	failing retry.Outage
}

// known are lifetimes with the epoch of the events before they were read.
type known struct {
	domain.Lifetimes
	epoch uint64
}

// Config is what lifetimes need.
type Config struct {
	Store       store.Store
	Environment domain.Settings
	// Epoch returns another number after each event that may have changed the lifetimes, and after each interruption of
	// the connection, during which one may have been missed.
	Epoch   func() uint64
	Log     *slog.Logger
	Outages *postgres.Watch
}

// Open reads the lifetimes.
func Open(ctx context.Context, c Config) (*Lifetimes, error) {
	l := &Lifetimes{store: c.Store, environment: c.Environment, epoch: c.Epoch, reading: make(chan struct{}, 1),
		failing: retry.Outage{
			Log: c.Log, Begins: "settings cannot be read: the last lifetimes stay in use; trying again",
			Ends: "settings are read again", Explained: c.Outages.Explains,
		}}
	return l, l.read(ctx)
}

// Current returns the lifetimes that count now. After an event it reads them first. If it cannot read them in time,
// those known stay in use, because a token that is valid for another time is better than none, and the next request
// tries again.
func (l *Lifetimes) Current(ctx context.Context) domain.Lifetimes {
	if l.known.Load().epoch != l.epoch() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readLimit)
		defer cancel()
		select {
		case l.reading <- struct{}{}:
			l.catchUp(ctx)
			<-l.reading
		case <-ctx.Done():
		}
	}
	return l.known.Load().Lifetimes
}

// catchUp reads the lifetimes, unless another request has done it meanwhile.
func (l *Lifetimes) catchUp(ctx context.Context) {
	if l.known.Load().epoch == l.epoch() {
		return
	}
	if err := l.read(ctx); err != nil {
		l.failing.Failed(err)
		return
	}
	l.failing.Worked()
}

func (l *Lifetimes) read(ctx context.Context) error {
	epoch := l.epoch() // before the read, because an event may come meanwhile
	set, err := l.store.Settings(ctx)
	if err == nil {
		l.known.Store(&known{set.Live(l.environment).Lifetimes, epoch})
	}
	return err
}
