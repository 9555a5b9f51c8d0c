package smtp

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/shared/mail"
)

// maxName bounds a display name, in runes.
const maxName = 200

// ParseMailbox parses an address for From or Reply-To, which may have a display name, as in
// "Herald <no-reply@example.com>".
func ParseMailbox(text string) (*netmail.Address, error) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return nil, errors.New("the address has control characters")
	}
	parsed := &netmail.Address{Address: text}
	if strings.Contains(text, "<") {
		var err error
		if parsed, err = netmail.ParseAddress(text); err != nil {
			return nil, fmt.Errorf("the address is not of the form Name <name@example.com>: %w", err)
		}
	}
	if utf8.RuneCountInString(parsed.Name) > maxName || strings.ContainsFunc(parsed.Name, unicode.IsControl) {
		return nil, errors.New("the display name is too long or has control characters")
	}
	var err error
	parsed.Address, err = mail.ParseAddress(parsed.Address)
	return parsed, err
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}
