package signing

import (
	"crypto"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"

	"herald/services/auth/internal/domain"
	"herald/shared/secret"
)

// key is a parsed key.
type key struct {
	id        string
	algorithm domain.Algorithm
	signsAt   time.Time
	pair      crypto.Signer
}

// ring is the keys at one time, in the order in which they sign. It never changes.
type ring struct {
	keys []*key
	byID map[string]*key
	// jwks is the JWK Set of the public keys (RFC 7517 section 5).
	jwks []byte
	// epoch is of the events before the keys were read.
	epoch uint64
}

// ringOf parses keys. Keys that are in old already are not parsed again.
func ringOf(stored domain.SigningKeys, old *ring, sealing secret.Keys) (*ring, error) {
	r := &ring{byID: map[string]*key{}}
	var public jose.JSONWebKeySet
	for _, s := range stored {
		k := &key{id: s.ID, algorithm: s.Algorithm, signsAt: s.SignsAt}
		if known := old.byID[s.ID]; known != nil {
			k.pair = known.pair
		} else {
			der, err := sealing.Open(s.PrivateKey, domain.SealedPrivateKey, s.ID)
			if err != nil {
				return nil, fmt.Errorf("signing key %s: %w", s.ID, err)
			}
			if k.pair, err = parsePair(der); err != nil {
				return nil, fmt.Errorf("signing key %s: %w", s.ID, err)
			}
		}
		r.keys, r.byID[k.id] = append(r.keys, k), k
		public.Keys = append(public.Keys, jose.JSONWebKey{
			Key: k.pair.Public(), KeyID: k.id, Algorithm: string(k.algorithm), Use: "sig",
		})
	}
	var err error
	r.jwks, err = json.Marshal(public)
	return r, err
}

// signing returns the key with which an algorithm signs: the last one whose time has come. If the clock was set back to
// a time before all of them, it is the first.
func (r *ring) signing(a domain.Algorithm, now time.Time) *key {
	var found *key
	for _, k := range r.keys {
		if k.algorithm == a && (found == nil || !k.signsAt.After(now)) {
			found = k
		}
	}
	return found
}
