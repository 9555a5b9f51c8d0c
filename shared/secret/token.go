package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

const (
	alphanumeric  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	tokenPrefix   = "hrld_"
	tokenRandom   = 43 // 256 bits in base 62
	tokenChecksum = 6
	tokenLength   = len(tokenPrefix) + tokenRandom + tokenChecksum
)

// RandomString returns n random characters a-zA-Z0-9, each equally likely.
func RandomString(n int) string {
	out := make([]byte, 0, n)
	buf := make([]byte, n+n/4)
	for len(out) < n {
		rand.Read(buf)
		for _, b := range buf {
			// 248 is the largest multiple of 62 in a byte. Larger bytes are dropped, because with
			// them some characters would be more likely.
			if b < 248 && len(out) < n {
				out = append(out, alphanumeric[int(b)%len(alphanumeric)])
			}
		}
	}
	return string(out)
}

// NewToken returns a new personal access token: a prefix, 256 random bits, and a checksum that
// detects a mistyped token without a request to users.
func NewToken() Text {
	body := tokenPrefix + RandomString(tokenRandom)
	return NewText(body + checksum(body))
}

// clientSecretLength is the length of a client secret in characters: more than 256 bits, so that
// nobody can guess it from a plain hash.
const clientSecretLength = 64

// NewClientSecret returns a new client secret: 64 characters a-zA-Z0-9.
func NewClientSecret() Text { return NewText(RandomString(clientSecretLength)) }

// LooksLikeToken reports whether a Bearer value has the prefix of a personal access token.
func LooksLikeToken(s string) bool { return strings.HasPrefix(s, tokenPrefix) }

// WellFormedToken reports whether length and checksum are right.
func WellFormedToken(s string) bool {
	return len(s) == tokenLength && LooksLikeToken(s) &&
		Equal([]byte(s[tokenLength-tokenChecksum:]), []byte(checksum(s[:tokenLength-tokenChecksum])))
}

// Hash returns what is stored of a token or client secret. SHA-256 is enough for 256 random bits.
func Hash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	out := make([]byte, tokenChecksum)
	for i := range out {
		out[tokenChecksum-1-i] = alphanumeric[sum%62]
		sum /= 62
	}
	return string(out)
}
