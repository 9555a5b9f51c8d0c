package domain

import (
	"strings"

	"herald/shared/gen/fault/textfault"
	"herald/shared/resource"
)

// Branding is how login pages look for an organization. If it chose nothing, the sequence is 0 and the times are those
// of the first start.
type Branding struct {
	resource.Record
	// PrimaryColor is # and six hexadecimal digits in lower case; empty for Herald's color.
	PrimaryColor string
	// LogoHash is Logo.Hash of the logo; empty for none.
	LogoHash string
	// Logo is set if a change replaces the logo. Reading a branding does not read the logo, because it is large.
	Logo *Logo `db:"-"`
}

// IsDefault reports whether the organization has neither a color nor a logo of its own.
func (b Branding) IsDefault() bool { return b.PrimaryColor == "" && b.LogoHash == "" }

// SetColor replaces the color and returns the names of the changed fields.
func (b *Branding) SetColor(color string) (changed []string) {
	color = strings.ToLower(color)
	if b.PrimaryColor == color {
		return nil
	}
	b.PrimaryColor = color
	return []string{"primaryColor"}
}

// SetLogo replaces the logo and returns the names of the changed fields.
func (b *Branding) SetLogo(l Logo) (changed []string) {
	if b.LogoHash == l.Hash() {
		return nil
	}
	b.LogoHash, b.Logo = l.Hash(), &l
	return []string{"logo"}
}

// Reset removes color and logo. It returns ErrBrandingNotFound if there are none.
func (b *Branding) Reset() error {
	if b.IsDefault() {
		return textfault.ErrBrandingNotFound
	}
	b.PrimaryColor, b.LogoHash = "", ""
	return nil
}
