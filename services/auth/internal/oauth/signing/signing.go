// Package signing signs tokens and verifies the tokens that it has signed. Its keys change by themselves: when a key
// begins to sign, another one is made and published, which waits until it signs. A key stays published until the tokens
// that it signed are no longer needed. All replicas share the keys, hold them in memory, and know each key long before
// it signs.
package signing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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

// Config is what keys need.
type Config struct {
	Store   store.Store
	Sealing secret.Keys
	// Period is how long a key signs.
	Period time.Duration
	Now    func() time.Time
	Log    *slog.Logger
}

// Keys are the keys of all replicas. It is safe for concurrent use.
type Keys struct {
	Config
	ring atomic.Pointer[ring]
	mu   sync.Mutex // held by Refresh
}

// Open reads the keys. At the first start it makes them, which takes about a second.
func Open(ctx context.Context, c Config) (*Keys, error) {
	k := &Keys{Config: c}
	k.ring.Store(&ring{})
	if err := k.Refresh(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// JWKS returns the public keys as a JWK Set (RFC 7517 section 5). It must not be changed.
func (k *Keys) JWKS() []byte { return k.ring.Load().jwks }

// Run makes keys before they are needed, removes keys that are no longer needed, and reads the changes of other
// replicas, until ctx ends.
func (k *Keys) Run(ctx context.Context) {
	failing := &retry.Outage{Log: k.Log, Begins: "signing keys cannot be read or made; those known go on signing",
		Ends: "signing keys are read and made again"}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		switch err := k.Refresh(ctx); {
		case ctx.Err() != nil:
			return
		case err == nil:
			failing.Worked()
		case !postgres.IsOutage(err): // postgres.Watch logs outages
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
	k.mu.Lock()
	defer k.mu.Unlock()
	all, err := k.Store.SigningKeys(ctx)
	if err != nil {
		return err
	}
	changed, err := k.change(caller.With(ctx, caller.Caller{Service: "auth"}), all)
	if err != nil {
		return err
	}
	if changed {
		if all, err = k.Store.SigningKeys(ctx); err != nil {
			return err
		}
	}
	r, err := ringOf(all, k.ring.Load(), k.Sealing)
	if err != nil {
		return err
	}
	k.ring.Store(r)
	return nil
}

// change makes the keys that are due and removes the retired ones. It reports whether there were any. Another replica
// may have made or removed them at the same time.
func (k *Keys) change(ctx context.Context, all domain.SigningKeys) (changed bool, err error) {
	for _, a := range domain.Algorithms() {
		keys := all.Of(a)
		if signsAt, due := keys.Next(k.Now(), k.Period); due {
			changed = true
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
