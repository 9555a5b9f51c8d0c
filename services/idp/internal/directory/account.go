package directory

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/services/idp/internal/domain"
)

const (
	// maxText is the longest claim that is used, in bytes. It is longer than any field of a user.
	maxText = 800
	maxAMR  = 10
)

// methods are the authentication methods of RFC 8176 section 2.
var methods = strings.Fields("face fpt geo hwk iris kba mca mfa otp pin pop pwd rba retina sc sms swk tel user vbm wia")

// account maps the claims to an account. docs/decisions describes the mapping, and why an e-mail address is not used as
// an id.
func (c claims) account() domain.Account {
	a := domain.Account{
		TenantID: c.TenantID, ObjectID: c.ObjectID,
		UserName: text(cmp.Or(c.PreferredUsername, c.Email)), DisplayName: text(c.Name), First: text(c.GivenName),
		Last: text(c.FamilyName), Email: text(c.Email), PreferredLanguage: text(cmp.Or(c.Locale, c.Language)),
		AuthTime: max(c.AuthTime, 0),
	}
	if a.Email == "" && strings.Contains(a.UserName, "@") {
		a.Email = a.UserName
	}
	for _, m := range c.AMR {
		if slices.Contains(methods, m) && !slices.Contains(a.AMR, m) && len(a.AMR) < maxAMR {
			a.AMR = append(a.AMR, m)
		}
	}
	return a
}

// text returns a claim without spaces around it. It returns "" for a claim that is too long, is not UTF-8 or has
// control characters, because no person has chosen such a text.
func text(claim string) string {
	if len(claim) > maxText || !utf8.ValidString(claim) || strings.ContainsFunc(claim, unicode.IsControl) {
		return ""
	}
	return strings.TrimSpace(claim)
}
