package mailpages

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxID   = 200 // runes; no longer id exists
	maxCode = 64  // bytes; a longer one is wrong, however it is cut
)

// link is what the link in the mail says. It comes from strangers.
type link struct {
	UserID, OrgID, Code string
	// PasswordSet says that the user has a password and needs no new one. Changing it in the
	// address only changes the form: users decides whether a password is missing.
	PasswordSet bool
}

// readLink returns false where no user can be meant.
func readLink(v url.Values) (link, bool) {
	l := link{UserID: v.Get("userID"), OrgID: v.Get("orgID"), Code: tidy(v.Get("code"))}
	l.PasswordSet, _ = strconv.ParseBool(v.Get("passwordset"))
	if !possible(l.OrgID) {
		l.OrgID = ""
	}
	return l, possible(l.UserID)
}

func possible(id string) bool {
	return id != "" && utf8.ValidString(id) && utf8.RuneCountInString(id) <= maxID &&
		!strings.ContainsFunc(id, unicode.IsControl)
}

// tidy forgives how a code was typed: case, spaces, hyphens, and the wide letters of
// a Japanese keyboard do not count.
func tidy(code string) string {
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

// address is the link's own under a path, without a host.
func (l link) address(path string) string {
	v := url.Values{"userID": {l.UserID}, "code": {l.Code}, "orgID": {l.OrgID}}
	if l.PasswordSet {
		v.Set("passwordset", "true")
	}
	return path + "?" + v.Encode()
}
