package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"
)

const (
	// DeviceLifetime is how long a person has to enter the code that a device shows.
	DeviceLifetime = 10 * time.Minute
	// DeviceInterval is how long a device waits between two questions (RFC 8628 section 3.2). Each time it asks sooner,
	// it must wait 5 s longer from then on (section 3.5).
	DeviceInterval = 5 * time.Second
	// UserCodeLength is how many letters a user code has: 34 bits. The number of tries is limited, and a code is valid
	// for ten minutes only.
	UserCodeLength = 8
)

// UserCodeLetters are the letters of user codes. There are no vowels, so that a code is never a word, and no letters
// that look alike (RFC 8628 section 6.1).
const UserCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// UserCode returns the user code that somebody has typed, in upper case and without separators. It returns "" if the
// text is not a user code.
func UserCode(typed string) string {
	code := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r == '-' || r == ' ':
			return -1
		}
		return r
	}, typed)
	if len(code) != UserCodeLength || strings.Trim(code, UserCodeLetters) != "" {
		return ""
	}
	return code
}

// ShownUserCode returns a user code as people read it.
func ShownUserCode(code string) string {
	return code[:UserCodeLength/2] + "-" + code[UserCodeLength/2:]
}

// NewDevice is a request of a device for a login, to store.
type NewDevice struct {
	Hash      []byte
	UserCode  string
	ClientID  string
	Scopes    []string
	ExpiresAt time.Time
}

// Device is a stored request of a device. It has an authorization after a person has let the device in.
type Device struct {
	Hash            []byte
	UserCode        string
	ClientID        string
	Scopes          []string
	CreatedAt       time.Time
	DeviceExpiresAt time.Time
	Denied          bool
	// AuthorizationID is empty until a person let the device in.
	AuthorizationID string
	// Soon reports that the device has not waited as long as it must.
	Soon bool
}

// Name returns the id of the device in the addresses of pages. Nobody can guess it. It is not the device code, so
// nobody gets tokens with it.
func (d Device) Name() string { return base64.RawURLEncoding.EncodeToString(d.Hash) }

// HashOfDevice returns the hash in a name of a device. It returns nil if the text is not such a name.
func HashOfDevice(name string) []byte {
	hash, err := base64.RawURLEncoding.DecodeString(name)
	if err != nil || len(hash) != sha256.Size {
		return nil
	}
	return hash
}

// Refusals of RFC 8628 section 3.5.
var (
	ErrAuthorizationPending = &Refusal{Code: "authorization_pending"}
	ErrSlowDown             = &Refusal{Code: "slow_down"}
	ErrExpiredToken         = &Refusal{Code: "expired_token"}
)

// Redeem refuses a device code to everybody but the device's client, and before a person has let the device in.
func (d Device) Redeem(clientID string, now time.Time) error {
	switch {
	case d.ClientID != clientID:
		return ErrInvalidGrant.Say("the device code is another client's")
	case !now.Before(d.DeviceExpiresAt):
		return ErrExpiredToken.Say("nobody has entered the code in time")
	case d.Denied:
		return ErrAccessDenied.Say("the person has refused the device")
	case d.Soon:
		return ErrSlowDown.Say("wait longer between two questions")
	case d.AuthorizationID == "":
		return ErrAuthorizationPending.Say("nobody has entered the code yet")
	}
	return nil
}
