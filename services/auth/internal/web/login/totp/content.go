package totp

import (
	"encoding/base64"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"rsc.io/qr"

	"herald/services/auth/internal/domain"
)

const (
	// Limits in bytes of what a form sends. Longer values do not exist.
	maxURL, maxCode = 8 << 10, 64
	// keyGroup is how many letters of a key are shown without a space.
	keyGroup = 4
)

// shown is the content of the pages.
type shown struct {
	Place
	// URL is the address that an app reads. Key is the secret in it, in groups. QR is an image of the URL, or empty if
	// the URL is too long.
	URL, QR template.URL
	Key     string
	// Wrong is the key of the text that says what is wrong.
	Wrong string
	// Codes are the recovery codes.
	Codes []string
}

// scan returns the content of the page with the QR code of a URL. The key is empty if it is not the URL of an app's
// secret.
func scan(p Place, address string) shown {
	s := shown{Place: p}
	u, err := url.Parse(address)
	if len(address) > maxURL || !domain.Plain(address) || err != nil || u.Scheme != "otpauth" || u.Host != "totp" {
		return s
	}
	key := u.Query().Get("secret")
	if len(key) > maxCode || strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return s
	}
	for part := range slices.Chunk([]byte(key), keyGroup) {
		s.Key += string(part) + " "
	}
	s.Key = strings.TrimSpace(s.Key)
	s.URL = template.URL(address) //nolint:gosec // its scheme is otpauth
	if code, err := qr.Encode(address, qr.M); err == nil {
		image := base64.StdEncoding.EncodeToString(code.PNG())
		s.QR = template.URL("data:image/png;base64," + image) //nolint:gosec // our own image
	}
	return s
}
