package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"strings"
)

const (
	alphanumeric  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	tokenRandom   = 43 // 256 bits in base 62
	tokenChecksum = 6
	tokenLength   = len(PersonalAccessToken) + tokenRandom + tokenChecksum
)

// TokenKind is a kind of opaque token. Its value is the prefix of all its tokens, so that a token is never accepted
// as one of another kind.
type TokenKind string

// The kinds of tokens.
const (
	PersonalAccessToken TokenKind = "hrld_"
	AccessToken         TokenKind = "hrla_"
	RefreshToken        TokenKind = "hrlr_"
	AuthorizationCode   TokenKind = "hrlc_"
	DeviceCode          TokenKind = "hrlx_"
)

// RandomString returns n random characters a-zA-Z0-9, each equally likely.
func RandomString(n int) string { return RandomOf(alphanumeric, n) }

// RandomOf returns n random characters of letters, each equally likely. letters must have 1 to 256 different bytes.
func RandomOf(letters string, n int) string {
	out := make([]byte, 0, n)
	buf := make([]byte, n+n/4+1)
	// Larger bytes are dropped, because they would make some characters more likely.
	most := 256 - 256%len(letters)
	for len(out) < n {
		rand.Read(buf)
		for _, b := range buf {
			if int(b) < most && len(out) < n {
				out = append(out, letters[int(b)%len(letters)])
			}
		}
	}
	return string(out)
}

// New returns a new token: the prefix, 256 random bits and a checksum. The checksum detects a mistyped token without
// a request to the service that owns the tokens.
func (k TokenKind) New() Text {
	body := string(k) + RandomString(tokenRandom)
	return NewText(body + checksum(body))
}

// From returns the token that follows from another one and a random seed: always the same, and nobody can find it who
// does not have both.
func (k TokenKind) From(token string, seed []byte) Text {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write(seed)
	digits := new(big.Int).SetBytes(mac.Sum(nil)).Text(len(alphanumeric))
	body := string(k) + strings.Repeat("0", tokenRandom-len(digits)) + digits
	return NewText(body + checksum(body))
}

// clientSecretLength is the length of a client secret in characters. It gives more than 256 bits, so that nobody can
// find the secret from its plain hash.
const clientSecretLength = 64

// NewClientSecret returns a new client secret: 64 characters a-zA-Z0-9.
func NewClientSecret() Text { return NewText(RandomString(clientSecretLength)) }

// Begins reports whether a text has the prefix of the kind.
func (k TokenKind) Begins(s string) bool { return strings.HasPrefix(s, string(k)) }

// WellFormed reports whether prefix, length and checksum of a token are right.
func (k TokenKind) WellFormed(s string) bool {
	return len(s) == tokenLength && k.Begins(s) &&
		Equal([]byte(s[tokenLength-tokenChecksum:]), []byte(checksum(s[:tokenLength-tokenChecksum])))
}

// Hash returns the hash of a token or client secret that is stored instead of it. SHA-256 is enough, because the
// input has 256 random bits.
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
