package domain

import (
	"fmt"
	"time"

	"herald/shared/gen/fault/authfault"
	"herald/shared/resource"
	"herald/shared/secret"
)

// Algorithm is how a key signs (RFC 7518 section 3.1).
type Algorithm string

// RS256 is the algorithm of all tokens. Every client of OpenID Connect can verify it (Core section 15.1), and every
// resource server that accepts JWT access tokens (RFC 9068 section 2.1).
const RS256 Algorithm = "RS256"

// Algorithms returns all algorithms. There is always one signing key for each.
func Algorithms() []Algorithm { return []Algorithm{RS256} }

const (
	// Announcement is the least time that a key is published before it signs, so that clients that read the published
	// keys once a day know it.
	Announcement = 24 * time.Hour
	// Overlap is how long a key stays published after it signed for the last time. Tokens expire after an hour, but
	// an expired id token is a hint at logout (OpenID Connect RP-Initiated Logout section 2), and a login lasts 10
	// days.
	Overlap = 10 * 24 * time.Hour
	// maxDays is the longest time for which a key may sign.
	maxDays = 365
)

// SealedPrivateKey is the column of the sealed private keys.
var SealedPrivateKey = secret.Column{Table: "signing_keys", Name: "private_key", Key: "id"}

// Sealed returns the columns with sealed secrets.
func Sealed() []secret.Column { return []secret.Column{SealedPrivateKey} }

// SigningKey is a key pair that signs tokens from a time on, until a later key of its algorithm does.
type SigningKey struct {
	resource.Record
	// ID is the key's kid (RFC 7517 section 4.5).
	ID        string
	Algorithm Algorithm
	// PrivateKey is sealed.
	PrivateKey []byte
	SignsAt    time.Time
}

// Activate makes a waiting key sign now.
func (k *SigningKey) Activate(now time.Time) error {
	if !k.SignsAt.After(now) {
		return authfault.ErrSigningKeyNotWaiting
	}
	k.SignsAt = now
	return nil
}

// CheckPeriod returns how long each key signs if that is allowed.
func CheckPeriod(days int) (time.Duration, error) {
	if days < 1 || days > maxDays {
		return 0, fmt.Errorf("HERALD_SIGNING_KEY_DAYS: %d is not 1 to %d", days, maxDays)
	}
	return time.Duration(days) * 24 * time.Hour, nil
}

// SigningKeys are keys in the order in which they sign. All methods except Of need keys of one algorithm.
type SigningKeys []SigningKey

// Of returns the keys of an algorithm.
func (keys SigningKeys) Of(a Algorithm) SigningKeys {
	var of SigningKeys
	for _, k := range keys {
		if k.Algorithm == a {
			of = append(of, k)
		}
	}
	return of
}

// Waiting reports whether there is a key that is to sign later, so that no new one is needed.
func (keys SigningKeys) Waiting(now time.Time) bool { return keys.Last().After(now) }

// Next returns when a new key begins to sign, if none waits. A first key signs at once.
func (keys SigningKeys) Next(now time.Time, period time.Duration) time.Time {
	if len(keys) == 0 {
		return now
	}
	signsAt := keys.Last().Add(period)
	if announced := now.Add(Announcement); signsAt.Before(announced) {
		return announced
	}
	return signsAt
}

// Last returns when the last key begins to sign; zero if there is none.
func (keys SigningKeys) Last() time.Time {
	if len(keys) == 0 {
		return time.Time{}
	}
	return keys[len(keys)-1].SignsAt
}

// Retired returns the keys that are no longer needed to verify tokens.
func (keys SigningKeys) Retired(now time.Time) SigningKeys {
	retired := 0
	for retired+1 < len(keys) && !keys[retired+1].SignsAt.Add(Overlap).After(now) {
		retired++
	}
	return keys[:retired]
}

// Removal is a key that is removed, with the key that replaces it.
type Removal struct {
	SigningKey
	// Replaced reports that a later key signs already.
	Replaced bool
	// Waiting is the id of the waiting key, empty if there is none.
	Waiting string
}

// signs reports whether the key is the one that signs.
func (r Removal) signs(now time.Time) bool { return !r.Replaced && !r.SignsAt.After(now) }

// Check refuses to remove the key that signs if there is no key to replace it.
func (r Removal) Check(now time.Time) error {
	if r.signs(now) && r.Waiting == "" {
		return authfault.ErrSigningKeyLast
	}
	return nil
}

// Heir returns the id of the key that signs from now on in place of the removed one, empty if the removed one did not
// sign.
func (r Removal) Heir(now time.Time) string {
	if !r.signs(now) {
		return ""
	}
	return r.Waiting
}
