// Package password creates password hashes, verifies those that other systems
// made, and says which passwords are good enough.
//
// Reading a hash never costs more than reading its text: every parameter that
// makes verifying expensive is bounded by Parse, and keys are derived only by
// a Hasher, a few at a time. A Hash keeps the original string and shows it to
// nobody but a caller of Encoded.
package password

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxEncoded is the longest accepted hash in bytes: the longest salt and key
// fit in a tenth of it.
const maxEncoded = 16 << 10

// Hash is a password hash that Parse accepted or a Hasher made. The zero Hash
// stands for "no password" and verifies nothing. It prints, logs and marshals
// as ***.
type Hash struct {
	// A function, because fmt looks into unexported fields, through pointers
	// too, without calling Format.
	open func() (encoded string, s scheme)
}

// scheme is one family's hash with its parameters, salt and key.
type scheme interface {
	// matches derives a key from the password and compares in constant time.
	matches(password []byte) bool
}

// FormatError refuses a hash that could never be verified, or only at a cost
// beyond the bounds. Its text repeats nothing of the hash and may be shown.
type FormatError struct {
	Format string // the format's name, like pbkdf2-sha256
	Reason string // what is wrong, like "rounds must be a number from 1 to 2000000"
}

// Error returns the format and what is wrong.
func (e *FormatError) Error() string { return e.Format + ": " + e.Reason }

// Parse reads a hash in one of the accepted formats: $pbkdf2$ and
// $pbkdf2-sha1|sha224|sha256|sha384|sha512$, $2a$ $2b$ $2y$, $argon2i$
// $argon2id$, $scrypt$, $5$ $6$, $1$, $P$ $H$ and {SSHA}. It derives nothing.
// The empty string is the zero Hash; every error is a *FormatError.
func Parse(encoded string) (Hash, error) {
	if encoded == "" {
		return Hash{}, nil
	}
	for _, f := range formats {
		if text, found := strings.CutPrefix(encoded, f.prefix); found {
			return f.parse(encoded, text)
		}
	}
	var known []string
	for _, f := range formats {
		known = append(known, f.prefix)
	}
	return Hash{}, &FormatError{"hash", "unknown format; it must start with one of " + strings.Join(known, " ")}
}

func (f format) parse(encoded, text string) (Hash, error) {
	if len(encoded) > maxEncoded {
		return Hash{}, &FormatError{f.name, fmt.Sprintf("longer than %d bytes", maxEncoded)}
	}
	r := &reader{text: text}
	r.require(!strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }),
		"characters other than printable ASCII")
	s := f.read(r)
	if r.err != nil {
		return Hash{}, &FormatError{f.name, r.err.Error()}
	}
	return newHash(encoded, s), nil
}

func newHash(encoded string, s scheme) Hash {
	return Hash{func() (string, scheme) { return encoded, s }}
}

// Encoded is the string that Parse was given, or that a Hasher made, for the
// store alone; empty for the zero Hash.
func (h Hash) Encoded() string {
	if h.IsZero() {
		return ""
	}
	encoded, _ := h.open()
	return encoded
}

// IsZero reports whether there is no password.
func (h Hash) IsZero() bool { return h.open == nil }

// Format prints *** for every verb.
func (h Hash) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// MarshalText gives *** to JSON and to structured logs.
func (h Hash) MarshalText() ([]byte, error) { return []byte("***"), nil }

// Format returns the name of an encoded hash's format, and whether Parse refuses the hash.
func Format(encoded string) (name string, refused bool) {
	if _, err := Parse(encoded); err != nil {
		if bad, ok := errors.AsType[*FormatError](err); ok {
			name = bad.Format
		}
		return name, true
	}
	for _, f := range formats {
		if strings.HasPrefix(encoded, f.prefix) {
			return f.name, false
		}
	}
	return "", false // the empty string
}
