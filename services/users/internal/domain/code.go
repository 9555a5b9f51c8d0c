package domain

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/shared/mail"
	"herald/shared/secret"
)

// Kind is the kind of the mail that carries a code; the tables call it the purpose.
type Kind mail.Kind

// The kinds of mailed codes.
const (
	KindInit          = Kind(mail.Init)
	KindVerifyEmail   = Kind(mail.VerifyEmail)
	KindPasswordReset = Kind(mail.PasswordReset)
)

// rules has, for each kind of mail with a code, the users to whom it is sent. A password is never reset by a mail to an
// address that is not verified, because its reader may be somebody else.
var rules = map[Kind]rule{
	KindInit:          {lifetime: 72 * time.Hour, state: UserInitial, verified: []bool{false, true}},
	KindVerifyEmail:   {lifetime: 72 * time.Hour, state: UserActive, verified: []bool{false}},
	KindPasswordReset: {lifetime: time.Hour, state: UserActive, verified: []bool{true}},
}

type rule struct {
	lifetime time.Duration
	state    UserState
	verified []bool
}

// Kinds lists the kinds, sorted.
func Kinds() []Kind { return slices.Sorted(maps.Keys(rules)) }

// ParseKind returns the kind of that name. It returns false if no kind has the name.
func ParseKind(name string) (Kind, bool) {
	_, known := rules[Kind(name)]
	return Kind(name), known
}

// Lifetime returns how long a code is valid, from its first sending.
func (k Kind) Lifetime() time.Duration { return rules[k].lifetime }

// State returns the state of users who wait for such a mail.
func (k Kind) State() UserState { return rules[k].state }

// Verified returns whether the e-mail of such users is verified. Both values are possible.
func (k Kind) Verified() []bool { return slices.Clone(rules[k].verified) }

// TakesPassword reports whether the page that takes the code may ask for a new password.
func (k Kind) TakesPassword() bool { return mail.Kind(k).Page().Password != mail.NeverAsked }

// NeedsPassword reports whether that page always asks for one.
func (k Kind) NeedsPassword() bool { return mail.Kind(k).Page().Password == mail.AlwaysAsked }

const (
	// CodeTries is the number of wrong codes after which a code is not valid any more.
	CodeTries = 10
	// CodePause is how soon a reader can ask for another mail.
	CodePause = time.Minute
	// CodesADay is how many mails readers can ask for within a day.
	CodesADay = 10

	codeLength = 8
	// Letters and digits that cannot be confused.
	codeAlphabet = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
)

// Coder derives codes, so that no row, event or queue contains one.
type Coder struct{ code, check []byte }

// NewCoder derives the two keys.
func NewCoder(key Lasting) Coder {
	return Coder{key.derive("code"), key.derive("code check")}
}

// Nonce returns a random value from which a code is derived.
func Nonce() []byte {
	nonce := make([]byte, 16)
	rand.Read(nonce)
	return nonce
}

// Code returns the code of a kind, user and nonce, which is always the same. It has about 40 bits.
func (c Coder) Code(kind Kind, userID string, nonce []byte) string {
	var b strings.Builder
	for round := 0; ; round++ {
		for _, x := range secret.MAC(c.code, string(kind), userID, string(nonce), strconv.Itoa(round)) {
			// 248 is the largest multiple of 31 in a byte. Larger bytes would make some characters more
			// likely.
			if x < 248 {
				b.WriteByte(codeAlphabet[int(x)%len(codeAlphabet)])
			}
			if b.Len() == codeLength {
				return b.String()
			}
		}
	}
}

// MAC returns the keyed hash that is stored of a code.
func (c Coder) MAC(kind Kind, userID, code string) []byte {
	return secret.MAC(c.check, string(kind), userID, code)
}

// Right compares a typed code with a stored MAC; spaces, hyphens and case do not count.
func (c Coder) Right(kind Kind, userID, typed string, mac []byte) bool {
	return len(mac) == sha256.Size && hmac.Equal(mac, c.MAC(kind, userID, normalize(typed)))
}

func normalize(code string) string {
	return strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
}
