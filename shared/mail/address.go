package mail

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of RFC 5321, sections 4.5.3.1.1 to 4.5.3.1.3. A path has at most 256 octets with its brackets.
const (
	maxLocal   = 64
	maxAddress = 254
)

var errTooLong = errors.New("the address is too long")

// ParseAddress accepts exactly one addr-spec (RFC 5321, section 4.1.2) with an unquoted local part and a domain name,
// without white space around it. It returns the address with the domain in ASCII (RFC 5890), which every mail server
// understands. All services use only this rule for addresses, so that mails can be sent to every address that a service
// accepts.
//
// The local part may have characters outside ASCII (RFC 6531). Such a mail can be delivered only
// through a relay that offers SMTPUTF8.
func ParseAddress(text string) (string, error) {
	if len(text) > maxAddress {
		return "", errTooLong
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, invisible) {
		return "", errors.New("the address has spaces, control characters or characters that cannot be seen")
	}
	local, domain, _ := strings.Cut(text, "@")
	if local == "" || domain == "" || strings.ContainsAny(local, `"(),:;<>[\]`) {
		return "", errors.New("the address is not of the form name@example.com")
	}
	if strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return "", errors.New("the address has a dot in the wrong place")
	}
	domain, err := lookup.ToASCII(domain)
	if err != nil {
		return "", fmt.Errorf("the domain of the address cannot exist: %w", err)
	}
	if strings.HasSuffix(domain, ".") {
		return "", errors.New("the domain of the address ends in a dot")
	}
	if len(local) > maxLocal || len(local)+1+len(domain) > maxAddress {
		return "", errTooLong
	}
	return local + "@" + domain, nil
}

// lookup converts a domain to the form that is looked up in DNS.
var lookup = idna.New(idna.MapForLookup(), idna.StrictDomainName(true), idna.VerifyDNSLength(true), idna.BidiRule())

// blankBraille is a letter in Unicode that looks empty.
const blankBraille = '\u2800'

// invisible reports whether a reader cannot see r in an address.
func invisible(r rune) bool {
	if r <= unicode.MaxASCII {
		return r <= ' ' || r == unicode.MaxASCII
	}
	return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == blankBraille ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
