// Package password creates password hashes, verifies them and those of other systems, and checks
// new passwords against the policy.
//
// Parse derives no key, and bounds every parameter that makes verifying expensive. Only a Hasher
// derives keys, a few at a time. A Hash keeps the original string, which only Encoded returns.
package password

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxEncoded is the maximum length of a hash in bytes. The longest salt and key need a tenth of it.
const maxEncoded = 16 << 10

// Hash is a password hash that Parse accepted or a Hasher made. The zero Hash
// stands for "no password" and verifies nothing. It prints, logs and marshals
// as ***.
type Hash struct {
	// It is a function because fmt prints unexported fields, also through pointers, without calling
	// Format.
	open func() (encoded string, s scheme)
}

// scheme is a hash of one algorithm with its parameters, salt and key.
type scheme interface {
	// matches derives a key from the password and compares in constant time.
	matches(password []byte) bool
	// takes returns about how long matches takes on one core for a password of so many bytes.
	takes(bytes int) time.Duration
}

// FormatError is returned for a hash that could never be verified, or only with more work than the
// bounds allow. Its text contains nothing of the hash and can be shown to callers.
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
	if f, found := formatOf(encoded); found {
		return f.parse(encoded)
	}
	var known []string
	for _, f := range formats {
		known = append(known, f.prefix)
	}
	return Hash{}, &FormatError{"unknown format", "it must start with one of " + strings.Join(known, " ")}
}

// formatOf returns the format by the beginning of an encoded hash.
func formatOf(encoded string) (format, bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return strings.HasPrefix(encoded, f.prefix) })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

func (f format) parse(encoded string) (Hash, error) {
	if len(encoded) > maxEncoded {
		return Hash{}, &FormatError{f.name, fmt.Sprintf("longer than %d bytes", maxEncoded)}
	}
	text := encoded[len(f.prefix):]
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

// Encoded returns the text of the hash, to be stored. It is empty for the zero Hash.
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
	f, _ := formatOf(encoded)
	return f.name, false // "" for the empty string
}
