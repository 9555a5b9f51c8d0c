package boot_test

import (
	"testing"

	"herald/shared/boot"
)

func TestParsePublicURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://login.example.com":     "https://login.example.com",
		"https://login.example.com/":    "https://login.example.com",
		"http://localhost:8080":         "http://localhost:8080",
		"http://[::1]:8080/":            "http://[::1]:8080",
		"https://B\u00dccher.example:8": "https://xn--bcher-kva.example:8",
		"https://bücher.example":        "https://xn--bcher-kva.example",
		"":                              "",
		"login.example.com":             "",
		"ftp://login.example.com":       "",
		"https://":                      "",
		"https://:443":                  "",
		"https://a@b":                   "",
		"https://a/path":                "",
		"https://a?":                    "",
		"https://a?b":                   "",
		"https://a#b":                   "",
		"https://a\nb":                  "",
	} {
		t.Run(text, func(t *testing.T) {
			u, err := boot.ParsePublicURL(text)
			if (err == nil) != (want != "") || err == nil && u.String() != want {
				t.Errorf("%q is %v, %v", text, u, err)
			}
		})
	}
}
