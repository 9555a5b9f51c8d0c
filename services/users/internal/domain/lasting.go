package domain

import "herald/shared/secret"

// The columns with sealed secrets.
var (
	SealedOTP        = secret.Column{Table: "otp_factors", Name: "secret", Key: "user_id"}
	SealedLastingKey = secret.Column{Table: "lasting_keys", Name: "secret", Key: "name"}
	Sealed           = []secret.Column{SealedOTP, SealedLastingKey}
)

// Lasting is the key of mailed codes, of the digests of imports and of the login names of strangers, which must stay
// valid when the master key changes. It is random, never changes, and is stored sealed.
type Lasting struct {
	keys secret.Keys
	// digest is derived once, because a bulk import uses it for each user.
	digest []byte
	// stranger is derived once, because anybody can send requests that need it.
	stranger []byte
}

// NewLasting returns the key for a text of secret.NewKeyText.
func NewLasting(text secret.Text) (Lasting, error) {
	keys, err := secret.ParseKeys(text.Reveal())
	if err != nil {
		return Lasting{}, err
	}
	return Lasting{keys, keys.Derive("import digest"), keys.Derive("stranger")}, nil
}

func (l Lasting) derive(purpose string) []byte { return l.keys.Derive(purpose) }
