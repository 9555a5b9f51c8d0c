package password

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/text/unicode/norm"

	"herald/shared/gen/fault/usersfault"
	"herald/shared/queue"
)

// slow is the factor from which a hash is slow, compared with the time of a new hash.
const slow = 4

// Hasher derives all keys of passwords, a bounded number at a time. Slow hashes, which other systems made, have a bound
// of their own, so that the others never wait for them. It is safe for concurrent use.
type Hasher struct {
	queue, slow *queue.Queue
	derivations atomic.Int64
	refusals    refusals
}

// NewHasher returns a Hasher that works on atOnce passwords at a time, at least 1, and beside them on half as many with
// slow hashes, at least 1. In each of the two groups at most waiting calls wait, each for at most half of its remaining
// time. Calls beyond that return fault.ErrOverloaded while there is still time to answer.
func NewHasher(atOnce, waiting int) *Hasher {
	return &Hasher{queue: queue.New(atOnce, waiting), slow: queue.New(atOnce/2, waiting),
		refusals: refusals{held: make(chan struct{}, maxHeld), speeds: map[string]float64{}}}
}

// In returns a context whose passwords wait in the queue with that name. The queues take turns. The name is an
// organization, or the address of a client without an organization.
func In(ctx context.Context, line string) context.Context { return queue.In(ctx, line) }

// Slow reports whether a check of the password takes much longer than with a new hash. It is estimated from the
// parameters of the hash, and derives nothing.
func (h Hash) Slow(password string) bool {
	if h.IsZero() {
		return false
	}
	_, kept := h.open()
	return kept.takes(len(password)) > slow*unfilled().takes(len(password))
}

// Hash returns a new hash of the password in NFC: argon2id with m=19456 KiB, t=2, p=1, a random
// salt of 16 bytes and a key of 32 bytes. It does not check the policy, but returns ErrPasswordTooLong for
// more than 4 KiB. It returns fault.ErrOverloaded if too many calls wait.
func (h *Hasher) Hash(ctx context.Context, password string) (Hash, error) {
	if len(password) > maxBytes {
		return Hash{}, usersfault.ErrPasswordTooLong
	}
	var made argon2Hash
	err := do(ctx, h.queue, func() {
		h.derivations.Add(1)
		made = newArgon2(norm.NFC.AppendString(nil, password))
	})
	if err != nil {
		return Hash{}, err
	}
	return newHash(made.encode(), made), nil
}

// Verify reports whether the password, in NFC or as typed, matches the hash, and if so, whether the hash is outdated
// and should be replaced by a new one. A wrong password of a quick hash is derived for a new one too. For the zero Hash
// it returns false after the same time as for a wrong password, so that the time does not show whether a user exists
// and has a password. It returns the same errors as Hash.
func (h *Hasher) Verify(ctx context.Context, hash Hash, password string) (ok, outdated bool, err error) {
	if len(password) > maxBytes {
		return false, false, usersfault.ErrPasswordTooLong
	}
	var kept scheme = unfilled()
	if !hash.IsZero() {
		_, kept = hash.open()
	}
	places := h.queue
	if hash.Slow(password) {
		places = h.slow
	}
	composed := norm.NFC.String(password)
	asTyped := false
	err = do(ctx, places, func() {
		ok = h.matches(kept, composed)
		if !ok && composed != password {
			ok = h.matches(kept, password)
			asTyped = ok
		}
		if today := unfilled(); !ok && kept.takes(len(password)) < today.takes(len(password))/2 {
			h.matches(today, composed)
		}
	})
	if err != nil || !ok {
		return false, false, err
	}
	a, isArgon2 := kept.(argon2Hash)
	return true, asTyped || !isArgon2 || !a.current(), nil
}

// Derivations returns the number of keys derived so far.
func (h *Hasher) Derivations() int64 { return h.derivations.Load() }

func do(ctx context.Context, places *queue.Queue, work func()) error {
	if end, limited := ctx.Deadline(); limited {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Until(end)/2)
		defer stop()
	}
	return places.Do(ctx, work)
}

func (h *Hasher) matches(s scheme, password string) bool {
	h.derivations.Add(1)
	return s.matches([]byte(password))
}
