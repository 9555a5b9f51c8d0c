package password

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

// A new password has minRunes to maxRunes code points (NIST SP 800-63B, section 5.1.1.2). maxBytes
// is the maximum length of a password to verify. It is larger, because the password of an imported
// hash may be longer than the policy allows.
const (
	minRunes = 8
	maxRunes = 128
	maxBytes = 4 << 10
)

// commonPasswords has 19,727 passwords in lower case, one on each line. common.LICENSE names their
// source. It is used whole, because it does not say which 10,000 of them are the most common.
//
//go:embed common.txt
var commonPasswords string

// Check returns a fault for a new password that does not have 8 to 128 characters in NFC, or that
// is a common one in any case. The fault names the field of the password.
func Check(field, password string) error {
	if f := check(password); f != nil {
		return f.On(field, f.Message)
	}
	return nil
}

func check(password string) *fault.Fault {
	if len(password) > maxBytes {
		return usersfault.ErrPasswordTooLong
	}
	if !utf8.ValidString(password) {
		return usersfault.ErrPasswordNotText
	}
	password = norm.NFC.String(password)
	switch runes := utf8.RuneCountInString(password); {
	case runes < minRunes:
		return usersfault.ErrPasswordTooShort
	case runes > maxRunes:
		return usersfault.ErrPasswordTooLong
	case common(strings.ToLower(password)):
		return usersfault.ErrPasswordTooCommon
	}
	return nil
}

func common(password string) bool {
	for entry := range strings.SplitSeq(commonPasswords, "\n") {
		if entry == password {
			return true
		}
	}
	return false
}
