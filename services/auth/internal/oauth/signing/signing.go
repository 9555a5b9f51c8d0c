// Package signing signs tokens and verifies the tokens that it has signed. Its keys change by themselves: when a key
// begins to sign, another one is made and published, which waits until it signs. A key stays published until the tokens
// that it signed are no longer needed. All replicas share the keys, hold them in memory, and know each key long before
// it signs.
package signing

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/shared/caller"
	"herald/shared/gen/fault/authfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/retry"
	"herald/shared/secret"
)

// interval is how often a replica reads the keys. Every replica knows within this time that a key was removed.
const interval = 5 * time.Second

// readLimit is how long a request waits until the keys are read after an event.
const readLimit = time.Second

// Config is what keys need.
type Config struct {
	Store   store.Store
	Sealing secret.Keys
	// Environment has the settings that win over those of the store: how long a key signs.
	Environment domain.Settings
	Now         func() time.Time
	// Epoch returns another number after each event of a key; nil if nobody listens to events.
	Epoch func() uint64
	Log   *slog.Logger
	// Outages logs outages of the database; nil for none.
	Outages *postgres.Watch
}

// Keys are the keys of all replicas. It is safe for concurrent use.
type Keys struct {
	Config
	ring atomic.Pointer[ring]
	// reading has an element while a goroutine reads the keys.
	reading chan struct{}
}

// Open reads the keys. At the first start it makes them, which takes about a second.
func Open(ctx context.Context, c Config) (*Keys, error) {
	k := newKeys(c)
	if err := k.Refresh(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

func newKeys(c Config) *Keys {
	k := &Keys{Config: c, reading: make(chan struct{}, 1)}
	k.ring.Store(&ring{})
	return k
}

// JWKS returns the public keys as a JWK Set (RFC 7517 section 5). It must not be changed. After an event of a key it
// reads the keys again, because the gateways have dropped the older ones and ask at once. It reports false if it could
// not, so that nobody keeps keys that may be older than the event.
func (k *Keys) JWKS(ctx context.Context) (jwks []byte, current bool) {
	current = k.isCurrent()
	if !current {
		ctx, cancel := context.WithTimeout(ctx, readLimit)
		defer cancel()
		current = k.alone(ctx, func() error {
			if k.isCurrent() { // another request has read them
				return nil
			}
			found, err := k.read(ctx)
			if err != nil {
				return err
			}
			return k.use(found)
		}) == nil
	}
	return k.ring.Load().jwks, current
}

func (k *Keys) isCurrent() bool { return k.ring.Load().epoch == k.epoch() }

func (k *Keys) epoch() uint64 {
	if k.Epoch == nil {
		return 0
	}
	return k.Epoch()
}

// Run makes keys before they are needed, removes keys that are no longer needed, and reads the changes of other
// replicas, until ctx ends.
func (k *Keys) Run(ctx context.Context) {
	failing := &retry.Outage{Log: k.Log, Begins: "signing keys cannot be read or made; those known go on signing",
		Ends: "signing keys are read and made again", Explained: k.Outages.Explains}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		switch err := k.Refresh(ctx); {
		case ctx.Err() != nil:
			return
		case err == nil:
			failing.Worked()
		default:
			failing.Failed(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Refresh first makes the keys that are due, at most one of each algorithm, and removes retired ones. Then it reads the
// keys.
func (k *Keys) Refresh(ctx context.Context) error {
	return k.alone(ctx, func() error {
		found, err := k.read(ctx)
		if err != nil {
			return err
		}
		changed, err := k.change(caller.With(ctx, caller.Caller{Service: "auth"}), found.keys)
		if err != nil {
			return err
		}
		if changed {
			if found, err = k.read(ctx); err != nil {
				return err
			}
		}
		return k.use(found)
	})
}

// alone calls work while no other goroutine reads the keys.
func (k *Keys) alone(ctx context.Context, work func() error) error {
	select {
	case k.reading <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-k.reading }()
	return work()
}

// found is what a read has found. epoch is of before it, because an event may come meanwhile.
type found struct {
	keys  domain.SigningKeys
	epoch uint64
}

func (k *Keys) read(ctx context.Context) (f found, err error) {
	f.epoch = k.epoch()
	f.keys, err = k.Store.SigningKeys(ctx)
	return f, err
}

func (k *Keys) use(f found) error {
	r, err := ringOf(f.keys, k.ring.Load(), k.Sealing)
	if err != nil {
		return err
	}
	r.epoch = f.epoch
	k.ring.Store(r)
	return nil
}

// change makes the keys that are due and removes the retired ones. It reports whether there were any. Another replica
// may have made or removed them at the same time.
func (k *Keys) change(ctx context.Context, all domain.SigningKeys) (changed bool, err error) {
	for _, a := range domain.Algorithms() {
		keys := all.Of(a)
		if !keys.Waiting(k.Now()) {
			set, err := k.Store.Settings(ctx)
			if err != nil {
				return changed, err
			}
			changed = true
			signsAt := keys.Next(k.Now(), set.Live(k.Environment).KeyPeriod)
			if err := k.add(ctx, a, signsAt, keys.Last()); err != nil {
				return changed, err
			}
		}
		for _, retired := range keys.Retired(k.Now()) {
			changed = true
			if err := Remove(ctx, k.Store, retired.ID); err != nil && !errors.Is(err, authfault.ErrSigningKeyNotFound) {
				return changed, err
			}
		}
	}
	return changed, nil
}

func (k *Keys) add(ctx context.Context, a domain.Algorithm, signsAt, last time.Time) error {
	pair, err := NewPair(a)
	if err != nil {
		return err
	}
	keyID := resource.NewID()
	made := domain.SigningKey{ID: keyID, Algorithm: a, SignsAt: signsAt,
		PrivateKey: k.Sealing.Seal(pair, domain.SealedPrivateKey, keyID)}
	return k.Store.AddSigningKey(ctx, made, last,
		&authv1.SigningKeyAdded{Algorithm: string(a), SignsAt: timestamppb.New(signsAt)})
}
