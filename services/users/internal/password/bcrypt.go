package password

import (
	"encoding/base64"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// bcryptHash has the whole hash with the prefix $2b$. The other prefixes stand for faults of old
// implementations, not for another algorithm.
type bcryptHash struct {
	text []byte
	cost int
}

func readBcrypt(r *reader) scheme {
	const saltChars, keyChars = 22, 31
	parts := r.split("cost$salt and key")
	r.require(len(parts[0]) == 2, "cost must have two digits")
	cost := r.number(parts[0], limit{"cost", bcrypt.MinCost, 14})
	r.require(len(parts[1]) == saltChars+keyChars,
		"salt and key must have %d characters, not %d", saltChars+keyChars, len(parts[1]))

	const alphabet = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	encoding := base64.NewEncoding(alphabet).WithPadding(base64.NoPadding)
	at := min(saltChars, len(parts[1]))
	_, err := encoding.DecodeString(parts[1][:at])
	r.require(err == nil, "salt is not in the base64 of bcrypt")
	// The unused bits of a salt may be set: such a hash can be verified. A key with such bits can
	// never match.
	_, err = encoding.Strict().DecodeString(parts[1][at:])
	r.require(err == nil, "key is not in the base64 of bcrypt")
	return bcryptHash{[]byte("$2b$" + r.text), cost}
}

// matches uses the first 72 bytes, as other implementations of bcrypt do.
func (b bcryptHash) matches(password []byte) bool {
	return bcrypt.CompareHashAndPassword(b.text, password[:min(len(password), 72)]) == nil
}

func (b bcryptHash) takes(int) time.Duration { return 60 * time.Microsecond << b.cost }
