package directory

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"

	"herald/services/idp/internal/domain"
	"herald/shared/contract"
)

const (
	// maxText is the longest claim that is used, in bytes. It is longer than any field of a user.
	maxText = 800
	// maxName is the longest name of a user, in runes.
	maxName = 200
	// maxLanguage is the longest language tag, in bytes.
	maxLanguage = 35
	// maxID is the longest id that is used, in bytes.
	maxID  = 200
	maxAMR = 10
)

// methods are the authentication methods of RFC 8176 section 2.
var methods = strings.Fields("face fpt geo hwk iris kba mca mfa otp pin pop pwd rba retina sc sms swk tel user vbm wia")

// number is a phone number without the characters that make it readable.
var number = regexp.MustCompile(`^\+[1-9][0-9]{1,14}$`)

// account maps the claims to an account. docs/decisions describes the mapping, and why an e-mail address is not used as
// an id.
func (c claims) account() domain.Account {
	a := domain.Account{
		TenantID: c.TenantID, ObjectID: c.ObjectID,
		UserName: name(cmp.Or(c.PreferredUsername, c.Email)), DisplayName: name(c.Name), First: name(c.GivenName),
		Last: name(c.FamilyName), Nick: name(c.Nickname), Email: text(c.Email),
		PreferredLanguage: tag(cmp.Or(c.Locale, c.Language)), AuthTime: max(c.AuthTime, 0),
	}
	if a.Phone = phone(c.Phone); a.Phone != "" {
		a.PhoneVerified = bool(c.PhoneVerified)
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

// name returns a claim as a name that users accept: without what a reader does not see, and not longer than a name may
// be. An e-mail address stays as it is: another one may be somebody else's.
func name(claim string) string {
	seen := []rune(strings.TrimSpace(contract.Seen(strings.ToValidUTF8(claim, ""))))
	// A joiner at the new end joins nothing.
	return strings.TrimSpace(contract.Seen(string(seen[:min(len(seen), maxName)])))
}

// phone returns a claim in the form that users accept, or "".
func phone(claim string) string {
	digits := strings.NewReplacer(" ", "", "-", "", ".", "", "(", "", ")", "").Replace(text(claim))
	if !number.MatchString(digits) {
		return ""
	}
	return digits
}

// tag returns a claim if it is a language tag that users accept, or "".
func tag(claim string) string {
	claim = text(claim)
	_, err := language.Parse(strings.ReplaceAll(claim, "_", "-"))
	if _, unknown := errors.AsType[language.ValueError](err); err != nil && !unknown || len(claim) > maxLanguage {
		return ""
	}
	return claim
}

// text returns a claim without spaces around it. It returns "" for a claim that is too long, is not UTF-8 or has
// control characters, because no person has chosen such a text.
func text(claim string) string {
	if len(claim) > maxText || !utf8.ValidString(claim) || strings.ContainsFunc(claim, unicode.IsControl) {
		return ""
	}
	return strings.TrimSpace(claim)
}
