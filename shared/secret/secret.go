// Package secret holds what must not be read: texts that print as ***, keys derived
// from the master key, seals for secrets at rest, tokens whose hash is all that is
// stored, and key pairs of which the public half is.
package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

const mask = "***"

// Text is a secret that only Reveal shows. Every way of printing, logging or
// marshalling it writes ***. Two texts are compared by Equal of what they reveal.
type Text struct {
	// A pointer: within an unexported field fmt asks no method but prints what it sees.
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

// MarshalText returns ***; JSON is written with it.
func (Text) MarshalText() ([]byte, error) { return []byte(mask), nil }

// UnmarshalText takes the secret, for reading settings.
func (t *Text) UnmarshalText(b []byte) error {
	*t = NewText(string(b))
	return nil
}

// Equal compares in constant time, without telling the lengths.
func Equal(a, b []byte) bool {
	x, y := sha256.Sum256(a), sha256.Sum256(b)
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
