package password

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A new password has minRunes to maxRunes code points (NIST SP 800-63B section
// 5.1.1.2). maxBytes bounds what is worth looking at: a typed password of
// maxRunes never has as many bytes, however it is composed, but one that came
// with an imported hash may be longer than our policy.
const (
	minRunes = 8
	maxRunes = 128
	maxBytes = 4 << 10
)

// commonPasswords holds 19,727 passwords in lower case, one on a line. Where
// they are from stands in common.LICENSE.
//
//go:embed common.txt
var commonPasswords string

// Refusal is the stable reason why a password cannot be used; its text may be
// shown to whoever chose the password.
type Refusal string

// The reasons. None of them depends on the kinds of characters used.
const (
	NotText   Refusal = "PASSWORD_NOT_TEXT" // no valid UTF-8
	TooShort  Refusal = "PASSWORD_TOO_SHORT"
	TooLong   Refusal = "PASSWORD_TOO_LONG" // also of passwords to verify, above 4 KiB
	TooCommon Refusal = "PASSWORD_TOO_COMMON"
)

// Error returns a sentence for whoever chose the password.
func (r Refusal) Error() string {
	switch r {
	case NotText:
		return "the password is not valid UTF-8"
	case TooShort:
		return "the password must have at least 8 characters"
	case TooLong:
		return "the password must have at most 128 characters"
	case TooCommon:
		return "the password is one of the most common ones"
	}
	return string(r)
}

// Check says whether a new password may be used: 8 to 128 characters in NFC,
// and in no list of common ones whatever its case. Every error is a Refusal.
func Check(password string) error {
	if len(password) > maxBytes {
		return TooLong
	}
	if !utf8.ValidString(password) {
		return NotText
	}
	password = norm.NFC.String(password)
	switch runes := utf8.RuneCountInString(password); {
	case runes < minRunes:
		return TooShort
	case runes > maxRunes:
		return TooLong
	case common(strings.ToLower(password)):
		return TooCommon
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
