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
	// maxText bounds what is taken over, in bytes: more than any field of a user has.
	maxText = 800
	maxAMR  = 10
)

// methods are those of RFC 8176 section 2.
var methods = strings.Fields("face fpt geo hwk iris kba mca mfa otp pin pop pwd rba retina sc sms swk tel user vbm wia")

// account maps the claims. docs/decisions has the mapping, and why e-mail is no id.
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

// text returns what is taken over of a claim: nothing of one that no person can have chosen.
func text(claim string) string {
	if len(claim) > maxText || !utf8.ValidString(claim) || strings.ContainsFunc(claim, unicode.IsControl) {
		return ""
	}
	return strings.TrimSpace(claim)
}
