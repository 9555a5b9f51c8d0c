package password

import (
	"crypto/md5"
	"crypto/subtle"
	"strings"
	"time"

	"github.com/go-crypt/x/base64"
)

// phpass is a portable hash of Solar Designer's PHP framework, as of WordPress ($P$) and phpBB
// ($H$): many rounds of MD5.
type phpass struct {
	logRounds int
	salt, key []byte
}

func readPHPass(r *reader) scheme {
	if len(r.text) < 9 {
		r.require(false, "expected 1 character of rounds, 8 of salt, then the key")
		return nil
	}
	logRounds := strings.IndexByte(crypt64, r.text[0])
	r.require(logRounds >= 7 && logRounds <= 20, "rounds must be 5 to I, for 2^7 to 2^20")
	return phpass{logRounds, []byte(r.text[1:9]), r.cryptKey(r.text[9:], md5.Size)}
}

func (p phpass) matches(password []byte) bool {
	if len(password) > cryptLimit {
		return false
	}
	text := append(p.salt[:len(p.salt):len(p.salt)], password...)
	sum := md5.Sum(text)
	text = append(sum[:], password...)
	for range 1 << p.logRounds {
		sum = md5.Sum(text)
		copy(text, sum[:])
	}
	return subtle.ConstantTimeCompare(base64.EncodeCrypt(sum[:]), p.key) == 1
}

func (p phpass) takes(bytes int) time.Duration {
	return (100*time.Nanosecond + time.Duration(min(bytes, cryptLimit))*2) << p.logRounds
}
