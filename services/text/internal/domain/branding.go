package domain

import (
	"strings"

	"herald/shared/gen/fault/textfault"
	"herald/shared/mail"
	"herald/shared/resource"
)

// Branding is how pages and mails of an organization look, and where people get help. If it chose nothing, the sequence
// is 0 and the times are those of the first start.
type Branding struct {
	resource.Record
	// PrimaryColor is # and six hexadecimal digits in lower case; empty for Herald's color.
	PrimaryColor string
	// SupportEmail is the address for help; empty for none.
	SupportEmail string
	// LogoHash is Logo.Hash of the logo; empty for none.
	LogoHash string
	// Logo is set if a change replaces the logo. Reading a branding does not read the logo, because it is large.
	Logo *Logo `db:"-"`
}

// IsDefault reports whether the organization has nothing of its own.
func (b Branding) IsDefault() bool {
	return b.PrimaryColor == "" && b.LogoHash == "" && b.SupportEmail == ""
}

// Set replaces the color and the address for help, and returns the names of the changed fields.
func (b *Branding) Set(color, supportEmail string) (changed []string) {
	if color = strings.ToLower(color); b.PrimaryColor != color {
		changed = append(changed, "primaryColor")
	}
	if b.SupportEmail != supportEmail {
		changed = append(changed, "supportEmail")
	}
	b.PrimaryColor, b.SupportEmail = color, supportEmail
	return changed
}

// CheckSupportEmail returns ErrSupportEmailInvalid for a text that is neither an e-mail address nor empty.
func CheckSupportEmail(address string) error {
	if address == "" {
		return nil
	}
	if _, err := mail.ParseAddress(address); err != nil {
		return textfault.ErrSupportEmailInvalid
	}
	return nil
}

// SetLogo replaces the logo and returns the names of the changed fields.
func (b *Branding) SetLogo(l Logo) (changed []string) {
	if b.LogoHash == l.Hash() {
		return nil
	}
	b.LogoHash, b.Logo = l.Hash(), &l
	return []string{"logo"}
}

// Reset removes all of it. It returns ErrBrandingNotFound if there are none.
func (b *Branding) Reset() error {
	if b.IsDefault() {
		return textfault.ErrBrandingNotFound
	}
	b.PrimaryColor, b.LogoHash, b.SupportEmail = "", "", ""
	return nil
}
