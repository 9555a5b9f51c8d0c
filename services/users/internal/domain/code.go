package domain

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"strconv"
	"strings"
	"time"

	"herald/shared/fault"
	"herald/shared/secret"
)

// Purposes of mailed codes.
const PurposeInit = "init"

const (
	// CodeLifetime counts from the first sending.
	CodeLifetime = 72 * time.Hour
	// CodeTries is how many wrong codes end a code.
	CodeTries = 10
	// CodePause is how soon a reader can ask for another mail.
	CodePause = time.Minute

	codeLength = 8
	// Letters and digits that are not taken for one another.
	codeAlphabet = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
)

// Faults of mailed codes. A used, superseded, foreign or invented code is wrong.
var (
	ErrCodeInvalid  = fault.New(fault.Invalid, "CODE_INVALID", "The code is wrong").On("code", "is wrong")
	ErrCodeExpired  = fault.New(fault.Precondition, "CODE_EXPIRED", "The code has expired; ask for a new mail")
	ErrCodeLocked   = fault.New(fault.Exhausted, "CODE_LOCKED", "Too many wrong codes; ask for a new mail")
	ErrMailObsolete = fault.New(fault.Precondition, "NOTIFICATION_OBSOLETE", "The mail is no longer wanted: its code was used or replaced")
)

// Coder derives codes, so that no row, event or queue has to carry one.
type Coder struct{ code, check []byte }

// NewCoder derives the two keys.
func NewCoder(keys secret.Keys) Coder {
	return Coder{keys.Derive("code"), keys.Derive("code check")}
}

// Nonce makes what a code is derived from.
func Nonce() []byte {
	nonce := make([]byte, 16)
	rand.Read(nonce)
	return nonce
}

// Code is the same each time for a purpose, user and nonce: about 40 bits.
func (c Coder) Code(purpose, userID string, nonce []byte) string {
	var b strings.Builder
	for round := 0; ; round++ {
		for _, x := range secret.MAC(c.code, purpose, userID, string(nonce), strconv.Itoa(round)) {
			// 248 is the largest multiple of 31 in a byte: beyond it lies bias.
			if x < 248 {
				b.WriteByte(codeAlphabet[int(x)%len(codeAlphabet)])
			}
			if b.Len() == codeLength {
				return b.String()
			}
		}
	}
}

// MAC is what is stored of a code.
func (c Coder) MAC(purpose, userID, code string) []byte {
	return secret.MAC(c.check, purpose, userID, code)
}

// Right compares a typed code with a stored MAC; spaces, hyphens and case do not count.
func (c Coder) Right(purpose, userID, typed string, mac []byte) bool {
	return len(mac) == sha256.Size && hmac.Equal(mac, c.MAC(purpose, userID, normalize(typed)))
}

func normalize(code string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
}
