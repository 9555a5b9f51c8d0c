package domain_test

import (
	"testing"

	"herald/services/auth/internal/domain"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.77":                        "203.0.113.0/24",
		"2001:db8:1:2:3:4:5:6":                "2001:db8:1::/48",
		"fe80::1%eth0":                        "fe80::/48",
		"::ffff:203.0.113.77":                 "203.0.113.0/24",
		"":                                    "",
		"203.0.113.77:443":                    "",
		"somewhere <script>alert(1)</script>": "",
	} {
		if got := (domain.Session{Client: address}).Network(); got != want {
			t.Errorf("the network of %q is %q, want %q", address, got, want)
		}
	}
}
