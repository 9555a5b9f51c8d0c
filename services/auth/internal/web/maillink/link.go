package maillink

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxID   = 200 // in runes; longer ids do not exist
	maxCode = 64  // in bytes; longer codes do not exist
	maxTag  = 35  // in bytes; longer tags of languages do not exist
)

// link is the values in the query of a link. Anybody can make such a link.
type link struct {
	UserID, OrgID, Code string
	// PasswordSet reports that the user has a password. It only decides what the form asks for. The service users
	// checks whether a password is missing.
	PasswordSet bool
	// Language is the language that the reader has picked, or else the mail's. It is empty for the browser's language.
	Language string
}

// readLink reads the query of a link. It returns false if the user id is malformed.
func readLink(v url.Values) (link, bool) {
	l := link{UserID: v.Get("userID"), OrgID: v.Get("orgID"), Code: Tidy(v.Get("code"))}
	l.PasswordSet, _ = strconv.ParseBool(v.Get("passwordset"))
	if tag := v.Get("lang"); len(tag) <= maxTag && !strings.ContainsFunc(tag, notOfTag) {
		l.Language = tag
	}
	if !possible(l.OrgID) {
		l.OrgID = ""
	}
	return l, possible(l.UserID)
}

func possible(id string) bool {
	return id != "" && utf8.ValidString(id) && utf8.RuneCountInString(id) <= maxID &&
		!strings.ContainsFunc(id, unicode.IsControl)
}

// notOfTag reports whether a character cannot be in the tag of a language.
func notOfTag(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// Tidy returns the letters and digits of a code in upper case, with the wide letters of a Japanese
// keyboard replaced by ASCII.
func Tidy(code string) string {
	code = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToUpper(r)
		}
		return -1
	}, norm.NFKC.String(strings.ToValidUTF8(code, "")))
	if len(code) > maxCode {
		code = strings.ToValidUTF8(code[:maxCode], "")
	}
	return code
}

// address returns the link with another path, without a host.
func (l link) address(path string) string {
	v := url.Values{"userID": {l.UserID}, "code": {l.Code}, "orgID": {l.OrgID}}
	if l.PasswordSet {
		v.Set("passwordset", "true")
	}
	if l.Language != "" {
		v.Set("lang", l.Language)
	}
	return path + "?" + v.Encode()
}
