package password

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"time"

	"golang.org/x/crypto/argon2"
)

// argon2Hash is a hash of Argon2 version 0x13 (RFC 9106) in PHC notation.
type argon2Hash struct {
	argon2Cost
	salt, key []byte
}

type argon2Cost struct {
	id                    bool // argon2id, else argon2i
	memory, passes, lanes int  // memory in KiB
}

func argon2Reader(id bool) func(*reader) scheme {
	return func(r *reader) scheme {
		parts := r.split("v=19$m=…,t=…,p=…$salt$key")
		r.require(parts[0] == "v=19", "version must be v=19")
		n := r.parameters(parts[1], limit{"m", 8, 256 << 10}, limit{"t", 1, 10}, limit{"p", 1, 16})
		r.require(n[0] >= 8*n[2], "m must be at least 8 times p")
		return argon2Hash{argon2Cost{id, n[0], n[1], n[2]}, r.salt(parts[2]), r.key(parts[3])}
	}
}

// unfilled returns a hash with the current parameters whose salt and key are zeros. No password
// matches it.
func unfilled() argon2Hash {
	return argon2Hash{argon2Cost{id: true, memory: 19456, passes: 2, lanes: 1}, make([]byte, 16), make([]byte, 32)}
}

func newArgon2(password []byte) argon2Hash {
	a := unfilled()
	_, _ = rand.Read(a.salt) // never fails
	a.key = a.derive(password)
	return a
}

func (a argon2Hash) derive(password []byte) []byte {
	derive := argon2.Key
	if a.id {
		derive = argon2.IDKey
	}
	return derive(password, a.salt, uint32(a.passes), uint32(a.memory), uint8(a.lanes), uint32(len(a.key)))
}

func (a argon2Hash) matches(password []byte) bool {
	return subtle.ConstantTimeCompare(a.derive(password), a.key) == 1
}

func (a argon2Hash) takes(int) time.Duration {
	return time.Duration(a.memory*a.passes) * 500 * time.Nanosecond
}

// current reports whether a new hash would have the same parameters.
func (a argon2Hash) current() bool {
	today := unfilled()
	return a.argon2Cost == today.argon2Cost && len(a.salt) == len(today.salt) && len(a.key) == len(today.key)
}

func (a argon2Hash) encode() string {
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, a.memory, a.passes, a.lanes, text(a.salt), text(a.key))
}
