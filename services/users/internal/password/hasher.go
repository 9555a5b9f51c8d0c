package password

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/text/unicode/norm"

	"herald/shared/queue"
)

// Hasher derives all keys of passwords, a bounded number at a time. It is safe for concurrent use.
type Hasher struct {
	queue       *queue.Queue
	derivations atomic.Int64
}

// NewHasher returns a Hasher that works on atOnce passwords at a time, at least 1, and lets waiting
// calls wait, each for half of the time that it has. Other calls, and those that waited for so long, return
// fault.ErrOverloaded, while there is time left to say so.
func NewHasher(atOnce, waiting int) *Hasher {
	return &Hasher{queue: queue.New(atOnce, waiting)}
}

// In returns a context whose passwords wait in the line of an organization, which takes turns with the others. It
// is for callers who act in no organization.
func In(ctx context.Context, organizationID string) context.Context {
	return queue.In(ctx, organizationID)
}

// Hash returns a new hash of the password in NFC: argon2id with m=19456 KiB, t=2, p=1, a random
// salt of 16 bytes and a key of 32 bytes. It does not check the policy, but returns ErrTooLong for
// more than 4 KiB. It returns fault.ErrOverloaded if too many calls wait.
func (h *Hasher) Hash(ctx context.Context, password string) (Hash, error) {
	if len(password) > maxBytes {
		return Hash{}, ErrTooLong
	}
	var made argon2Hash
	err := h.do(ctx, func() {
		h.derivations.Add(1)
		made = newArgon2(norm.NFC.AppendString(nil, password))
	})
	if err != nil {
		return Hash{}, err
	}
	return newHash(made.encode(), made), nil
}

// Verify reports whether the password, in NFC or as typed, matches the hash, and if so, whether the
// hash is outdated and should be replaced by a new one. For the zero Hash it returns false after
// the same time as for a wrong password, so that the time does not tell whether a user exists and
// has a password. It returns the same errors as Hash.
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
	err = h.do(ctx, func() {
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

// Derivations returns the number of keys derived so far.
func (h *Hasher) Derivations() int64 { return h.derivations.Load() }

func (h *Hasher) do(ctx context.Context, work func()) error {
	if end, limited := ctx.Deadline(); limited {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Until(end)/2)
		defer stop()
	}
	return h.queue.Do(ctx, work)
}

func (h *Hasher) matches(s scheme, password string) bool {
	h.derivations.Add(1)
	return s.matches([]byte(password))
}
