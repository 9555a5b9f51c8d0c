package password

import (
	"crypto/subtle"
	"time"

	"golang.org/x/crypto/scrypt"
)

// scryptHash is a hash of scrypt (RFC 7914) in PHC notation, with the logarithm of N.
type scryptHash struct {
	logN, r, p int
	salt, key  []byte
}

func readScrypt(r *reader) scheme {
	parts := r.split("ln=…,r=…,p=…$salt$key")
	n := r.parameters(parts[0], limit{"ln", 1, 17}, limit{"r", 1, 80}, limit{"p", 1, 80})
	s := scryptHash{n[0], n[1], n[2], r.salt(parts[1]), r.key(parts[2])}
	r.require(s.r*s.p <= 80, "r times p must be at most 80")
	r.require(s.r*s.p<<s.logN <= 1<<22, "2^ln times r times p must be at most 2^22")
	r.require(128*s.r<<s.logN <= 256<<20, "ln and r must need at most 256 MiB")
	return s
}

func (s scryptHash) matches(password []byte) bool {
	key, err := scrypt.Key(password, s.salt, 1<<s.logN, s.r, s.p, len(s.key))
	return err == nil && subtle.ConstantTimeCompare(key, s.key) == 1
}

func (s scryptHash) takes(int) time.Duration {
	return time.Duration(s.r*s.p<<s.logN) * 300 * time.Nanosecond
}
