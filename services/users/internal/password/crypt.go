package password

import (
	"crypto/md5"
	"crypto/subtle"
	"hash"
	"strings"
	"time"

	"github.com/go-crypt/x/crypt"
)

// cryptLimit is the longest password in bytes that libxcrypt hashes. The work of these schemes is
// proportional to rounds times length. Longer passwords do not match, because a check could take
// many seconds.
const cryptLimit = 512

// shaCrypt is a hash of Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512".
type shaCrypt struct {
	hash      func() hash.Hash
	rounds    int
	salt, key []byte
}

func shaCryptReader(hash func() hash.Hash) func(*reader) scheme {
	return func(r *reader) scheme {
		rounds := 5000
		if after, explicit := strings.CutPrefix(r.text, "rounds="); explicit {
			var digits string
			digits, r.text, _ = strings.Cut(after, "$")
			// Other implementations never write less than 1,000.
			rounds = r.number(digits, limit{"rounds", 1000, 1_000_000})
		}
		salt, key := r.crypt(16, hash().Size())
		return shaCrypt{hash, rounds, salt, key}
	}
}

func (s shaCrypt) matches(password []byte) bool {
	return len(password) <= cryptLimit &&
		subtle.ConstantTimeCompare(crypt.KeySHACrypt(s.hash, password, s.salt, s.rounds), s.key) == 1
}

func (s shaCrypt) takes(bytes int) time.Duration {
	return time.Duration(s.rounds) * (200*time.Nanosecond + time.Duration(min(bytes, cryptLimit))*5)
}

// md5Crypt is a hash of Poul-Henning Kamp's crypt with 1,000 rounds of MD5.
type md5Crypt struct{ salt, key []byte }

func readMD5Crypt(r *reader) scheme {
	salt, key := r.crypt(8, md5.Size)
	return md5Crypt{salt, key}
}

func (m md5Crypt) matches(password []byte) bool {
	return len(password) <= cryptLimit &&
		subtle.ConstantTimeCompare(crypt.KeyMD5Crypt(password, m.salt), m.key) == 1
}

// takes is about a millisecond for the longest password.
func (m md5Crypt) takes(int) time.Duration { return time.Millisecond }

// crypt reads "salt$key". The salt's characters are used as they are.
func (r *reader) crypt(maxSalt, keySize int) (salt, key []byte) {
	parts := r.split("salt$key")
	r.require(parts[0] != "" && len(parts[0]) <= maxSalt, "salt must have 1 to %d characters", maxSalt)
	return []byte(parts[0]), r.cryptKey(parts[1], keySize)
}
