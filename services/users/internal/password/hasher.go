package password

import (
	"context"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"herald/shared/queue"
)

// Hasher is the only one to derive keys, a bounded number at a time. It is safe
// for concurrent use.
type Hasher struct {
	queue       *queue.Queue
	derivations atomic.Int64
}

// NewHasher makes a Hasher that works on so many passwords at a time (one per core, at
// least 1), and lets so many calls wait. A call beyond them, or whose context ends
// first, gets fault.ErrOverloaded.
func NewHasher(atOnce, waiting int) *Hasher {
	return &Hasher{queue: queue.New(atOnce, waiting)}
}

// Hash makes a new hash of the password in NFC: argon2id with m=19456 KiB, t=2,
// p=1, a random salt of 16 bytes and a key of 32. The password is not checked
// against the policy, but above 4 KiB it is ErrTooLong. Otherwise the error is
// fault.ErrOverloaded.
func (h *Hasher) Hash(ctx context.Context, password string) (Hash, error) {
	if len(password) > maxBytes {
		return Hash{}, ErrTooLong
	}
	var made argon2Hash
	err := h.queue.Do(ctx, func() {
		h.derivations.Add(1)
		made = newArgon2(norm.NFC.AppendString(nil, password))
	})
	if err != nil {
		return Hash{}, err
	}
	return newHash(made.encode(), made), nil
}

// Verify reports whether the password, in NFC or as typed, is the hash's, and
// if so, whether the hash is outdated: a new one by Hash should replace it.
// Given the zero Hash it takes as long as for a wrong password and answers
// false, so that nobody can tell users without password, or nobody at all, from
// others. Errors as for Hash.
func (h *Hasher) Verify(ctx context.Context, hash Hash, password string) (ok, outdated bool, err error) {
	if len(password) > maxBytes {
		return false, false, ErrTooLong
	}
	var kept scheme = unfilled()
	if !hash.IsZero() {
		_, kept = hash.open()
	}
	composed := norm.NFC.String(password)
	asTyped := false
	err = h.queue.Do(ctx, func() {
		ok = h.matches(kept, composed)
		if !ok && composed != password {
			ok = h.matches(kept, password)
			asTyped = ok
		}
	})
	if err != nil || !ok {
		return false, false, err
	}
	a, isArgon2 := kept.(argon2Hash)
	return true, asTyped || !isArgon2 || !a.current(), nil
}

// Derivations counts the keys derived so far: a figure for the operator, and
// the proof that refused input costs nothing.
func (h *Hasher) Derivations() int64 { return h.derivations.Load() }

func (h *Hasher) matches(s scheme, password string) bool {
	h.derivations.Add(1)
	return s.matches([]byte(password))
}
