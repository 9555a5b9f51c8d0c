// Package secret handles secrets. It has texts that print as ***, keys that are derived from the master key, and the
// encryption of stored secrets. Of tokens only the hash is stored, and of key pairs only the public key.
package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

const mask = "***"

// Text is a secret that only Reveal returns. Printing, logging and marshalling write ***. Compare two texts with
// Equal and the results of Reveal.
type Text struct {
	// The value is a pointer, because in an unexported field of another struct fmt calls no method of Text. It prints
	// the field itself, and for a pointer this is only an address.
	value *string
}

// NewText wraps a secret.
func NewText(value string) Text { return Text{&value} }

// Reveal returns the secret itself.
func (t Text) Reveal() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

// Empty reports whether there is no secret.
func (t Text) Empty() bool { return t.Reveal() == "" }

// String returns ***.
func (Text) String() string { return mask }

// Format writes *** for every verb.
func (Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// LogValue returns ***.
func (Text) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalText returns ***. encoding/json uses it too.
func (Text) MarshalText() ([]byte, error) { return []byte(mask), nil }

// UnmarshalText sets the secret. It is used to read settings.
func (t *Text) UnmarshalText(b []byte) error {
	*t = NewText(string(b))
	return nil
}

// Equal compares two values in constant time, even if their lengths differ.
func Equal(a, b []byte) bool {
	x, y := sha256.Sum256(a), sha256.Sum256(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
