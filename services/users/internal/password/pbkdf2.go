package password

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"crypto/subtle"
	"hash"
	"time"
)

// pbkdf2Hash is a hash of PBKDF2 (RFC 8018, section 5.2) in passlib's notation.
type pbkdf2Hash struct {
	hash      func() hash.Hash
	rounds    int
	salt, key []byte
}

func pbkdf2Reader(hash func() hash.Hash) func(*reader) scheme {
	return func(r *reader) scheme {
		parts := r.split("rounds$salt$key")
		rounds := r.number(parts[0], limit{"rounds", 1, 2_000_000})
		return pbkdf2Hash{hash, rounds, r.salt(parts[1]), r.key(parts[2])}
	}
}

func (p pbkdf2Hash) matches(password []byte) bool {
	key, err := pbkdf2.Key(p.hash, string(password), p.salt, p.rounds, len(p.key))
	return err == nil && subtle.ConstantTimeCompare(key, p.key) == 1
}

func (p pbkdf2Hash) takes(int) time.Duration {
	made, round := p.hash(), 200*time.Nanosecond
	if made.BlockSize() == sha512.BlockSize { // has no instructions of its own
		round = 600 * time.Nanosecond
	}
	blocks := (len(p.key) + made.Size() - 1) / made.Size()
	return time.Duration(p.rounds*blocks) * round
}
