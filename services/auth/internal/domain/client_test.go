package domain

import (
	"slices"
	"testing"
)

func TestWebOrigins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		redirects, added, want []string
	}{
		{nil, nil, nil},
		{[]string{"com.example.app:/callback"}, nil, nil},
		{[]string{"https://Shop.example:443/a", "https://shop.example/b?c=d"}, nil, []string{"https://shop.example"}},
		{[]string{"http://localhost:3000/a", "http://127.0.0.1:80/"}, []string{"https://other.example"},
			[]string{"https://other.example", "http://localhost:3000", "http://127.0.0.1"}},
		{[]string{"https://shop.example:8443/a", "http://shop.example:443/"}, nil,
			[]string{"https://shop.example:8443", "http://shop.example:443"}},
	} {
		if got := (Client{RedirectURIs: c.redirects, Origins: c.added}).WebOrigins(); !slices.Equal(got, c.want) {
			t.Errorf("%v and %v: %v, want %v", c.redirects, c.added, got, c.want)
		}
	}
}
