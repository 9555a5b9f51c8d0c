package password

import (
	"crypto/sha1"
	"crypto/subtle"
	"time"
)

// ssha is a salted SHA-1 hash of OpenLDAP (RFC 2307): the base64 of the key and the salt.
type ssha struct{ salt, key []byte }

func readSSHA(r *reader) scheme {
	data := r.bytes(r.text, limit{"key with salt", sha1.Size + 1, sha1.Size + 1024})
	at := min(sha1.Size, len(data))
	return ssha{salt: data[at:], key: data[:at]}
}

func (s ssha) matches(password []byte) bool {
	sum := sha1.Sum(append(password[:len(password):len(password)], s.salt...))
	return subtle.ConstantTimeCompare(sum[:], s.key) == 1
}

// takes is some microseconds.
func (s ssha) takes(int) time.Duration { return 0 }
