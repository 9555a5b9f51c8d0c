package directory

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/services/idp/internal/domain"
	"herald/shared/contract"
)

const (
	// maxText is the longest claim that is used, in bytes. It is longer than any field of a user.
	maxText = 800
	// maxID is the longest id that is used, in bytes.
	maxID  = 200
	maxAMR = 10
)

// methods are the authentication methods of RFC 8176 section 2.
var methods = strings.Fields("face fpt geo hwk iris kba mca mfa otp pin pop pwd rba retina sc sms swk tel user vbm wia")

// account maps the claims to an account. docs/decisions describes the mapping, and why an e-mail address is not used as
// an id.
func (c claims) account() domain.Account {
	a := domain.Account{
		TenantID: c.TenantID, ObjectID: c.ObjectID,
		UserName: name(cmp.Or(c.PreferredUsername, c.Email)), DisplayName: name(c.Name), First: name(c.GivenName),
		Last: name(c.FamilyName), Email: text(c.Email), PreferredLanguage: text(cmp.Or(c.Locale, c.Language)),
		AuthTime: max(c.AuthTime, 0),
	}
	if a.Email == "" && strings.Contains(a.UserName, "@") {
		a.Email = text(c.PreferredUsername)
	}
	for _, m := range c.AMR {
		if slices.Contains(methods, m) && !slices.Contains(a.AMR, m) && len(a.AMR) < maxAMR {
			a.AMR = append(a.AMR, m)
		}
	}
	return a
}

// name returns a claim without what a reader does not see, which users refuse in a name. An e-mail address stays as it
// is: another one may be somebody else's.
func name(claim string) string {
	return strings.TrimSpace(contract.Seen(text(claim)))
}

// text returns a claim without spaces around it. It returns "" for a claim that is too long, is not UTF-8 or has
// control characters, because no person has chosen such a text.
func text(claim string) string {
	if len(claim) > maxText || !utf8.ValidString(claim) || strings.ContainsFunc(claim, unicode.IsControl) {
		return ""
	}
	return strings.TrimSpace(claim)
}
