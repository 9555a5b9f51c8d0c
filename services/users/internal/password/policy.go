package password

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"herald/shared/fault"
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

// The reasons why a password cannot be used. None depends on the kinds of characters.
var (
	ErrNotText  = fault.New(fault.Invalid, "PASSWORD_NOT_TEXT", "The password is not valid text")
	ErrTooShort = fault.New(fault.Invalid, "PASSWORD_TOO_SHORT",
		"The password is too short: at least 8 characters")
	// ErrTooLong is also returned for a password to verify of more than 4 KiB.
	ErrTooLong = fault.New(fault.Invalid, "PASSWORD_TOO_LONG",
		"The password is too long: at most 128 characters")
	ErrTooCommon = fault.New(fault.Invalid, "PASSWORD_TOO_COMMON",
		"The password is too common: it is among the first that anybody would try")
	// ErrUnchanged is returned for a password that is the one that it replaces, if that must be changed.
	ErrUnchanged = fault.New(fault.Invalid, "PASSWORD_UNCHANGED",
		"This is the password that must be changed: choose another one")
)

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
		return ErrTooLong
	}
	if !utf8.ValidString(password) {
		return ErrNotText
	}
	password = norm.NFC.String(password)
	switch runes := utf8.RuneCountInString(password); {
	case runes < minRunes:
		return ErrTooShort
	case runes > maxRunes:
		return ErrTooLong
	case common(strings.ToLower(password)):
		return ErrTooCommon
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
