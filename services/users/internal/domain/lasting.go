package domain

import "herald/shared/secret"

// The columns with secrets that the master key has sealed.
var (
	SealedOTP        = secret.Column{Table: "otp_factors", Name: "secret", Key: "user_id"}
	SealedLastingKey = secret.Column{Table: "lasting_keys", Name: "secret", Key: "name"}
)

// Lasting is the key of what outlives a master key: mailed codes, and the digests of imports. It is
// random, stays the same, and is stored sealed.
type Lasting struct {
	keys secret.Keys
	// digest is derived once: a bulk import digests each of its users.
	digest []byte
}

// NewLasting returns the key for a text of secret.NewKeyText.
func NewLasting(text secret.Text) (Lasting, error) {
	keys, err := secret.ParseKeys(text.Reveal())
	if err != nil {
		return Lasting{}, err
	}
	return Lasting{keys, keys.Derive("import digest")}, nil
}

func (l Lasting) derive(purpose string) []byte { return l.keys.Derive(purpose) }
