package send

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of RFC 5321, sections 4.5.3.1.1 to 4.5.3.1.3; a path of 256 octets includes its brackets.
const (
	maxLocal   = 64
	maxAddress = 254
	maxName    = 200
)

// parseAddress takes exactly one addr-spec (RFC 5321, section 4.1.2) with an unquoted local part and
// a domain name, and returns it with the domain in ASCII.
func parseAddress(text string) (string, error) {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}) {
		return "", errors.New("the address has spaces or control characters")
	}
	local, domain, _ := strings.Cut(text, "@")
	if local == "" || domain == "" || strings.ContainsAny(local, `"(),:;<>[\]`) {
		return "", errors.New("the address is not of the form name@example.com")
	}
	if strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return "", errors.New("the address has a dot in the wrong place")
	}
	// A domain in ASCII needs nothing of the relay; only a local part outside ASCII needs SMTPUTF8.
	profile := idna.New(idna.MapForLookup(), idna.StrictDomainName(true), idna.VerifyDNSLength(true), idna.BidiRule())
	domain, err := profile.ToASCII(domain)
	if err != nil {
		return "", fmt.Errorf("the domain of the address cannot exist: %w", err)
	}
	if strings.HasSuffix(domain, ".") {
		return "", errors.New("the domain of the address ends in a dot")
	}
	if len(local) > maxLocal || len(local)+1+len(domain) > maxAddress {
		return "", errors.New("the address is too long")
	}
	return local + "@" + domain, nil
}

// parseMailbox takes an address for the From and Reply-To of every mail; it may have a display
// name, as in "Herald <no-reply@example.com>".
func parseMailbox(text string) (*netmail.Address, error) {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return nil, errors.New("the address has control characters")
	}
	parsed := &netmail.Address{Address: text}
	if strings.Contains(text, "<") {
		var err error
		if parsed, err = netmail.ParseAddress(text); err != nil {
			return nil, fmt.Errorf("the address is not of the form Name <name@example.com>: %w", err)
		}
	}
	if utf8.RuneCountInString(parsed.Name) > maxName || strings.ContainsFunc(parsed.Name, unicode.IsControl) {
		return nil, errors.New("the display name is too long or has control characters")
	}
	var err error
	parsed.Address, err = parseAddress(parsed.Address)
	return parsed, err
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}
