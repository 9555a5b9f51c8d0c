package domain_test

import (
	"strings"
	"testing"

	"herald/services/auth/internal/domain"
)

func TestBrowser(t *testing.T) {
	t.Parallel()
	const webkit = "AppleWebKit/537.36 "
	for agent, want := range map[string]string{
		"Mozilla/5 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0":                      "Firefox, Linux",
		"Mozilla/5 (Windows NT 10.0; Win64; x64) " + webkit + "Chrome/126.0 Safari/537.36":          "Chrome, Windows",
		"Mozilla/5 (Windows NT 10.0) " + webkit + "Chrome/126.0 Safari/537.36 Edg/126.0":            "Edge, Windows",
		"Mozilla/5 (Macintosh; Intel Mac OS X 10_15_7) " + webkit + "Version/17.5 Safari/605.1.15":  "Safari, macOS",
		"Mozilla/5 (iPhone; CPU iPhone OS 17_5 like Mac OS X) " + webkit + "CriOS/126.0 Safari/604": "Chrome, iPhone",
		"Mozilla/5 (Linux; Android 14) " + webkit + "Chrome/126.0 Mobile Safari/537.36":             "Chrome, Android",
		"Firefox/1.0":                        "Firefox",
		"curl/8.5.0":                         "curl/8.5.0",
		"  ":                                 "–",
		"":                                   "–",
		"\x80odd" + strings.Repeat("é", 100): "odd" + strings.Repeat("é", 28),
	} {
		t.Run(agent, func(t *testing.T) {
			if got := domain.Browser(agent); got != want {
				t.Errorf("%q is %q, want %q", agent, got, want)
			}
		})
	}
}
