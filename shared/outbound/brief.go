package outbound

import (
	"strings"
	"unicode/utf8"
)

// maxSaid is how many bytes of a stranger's text are logged, such as an address in a request, or an error with parts
// of another server's answer. These can be as long as the stranger likes.
const maxSaid = 200

// Said returns at most the first 200 bytes of a stranger's text, for logs. It replaces what is not UTF-8.
func Said(text string) string {
	end := min(len(text), maxSaid)
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "\uFFFD")
}

// Brief returns an error with at most 200 bytes of the text of err, for logs. It is nil if err is nil.
func Brief(err error) error {
	if err == nil {
		return nil
	}
	return brief{err}
}

type brief struct{ error }

// Error implements error.
func (b brief) Error() string { return Said(b.error.Error()) }

// Unwrap is for errors.Is.
func (b brief) Unwrap() error { return b.error }
