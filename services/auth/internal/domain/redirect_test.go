package domain_test

import (
	"testing"

	"herald/services/auth/internal/domain"
)

const registered = "https://app.example.com/oauth/callback?tenant=1"

// An address must be the same as a registered one, character for character.
func TestSimilarAddressIsNotRegistered(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{
		"", "https://app.example.com/oauth/callback", "https://app.example.com/oauth/callback?tenant=2",
		registered + "&x=y", registered + "#", registered + "#f", registered + "/", registered + " ", " " + registered,
		registered + "%00", registered + "\x00", registered + "\n", registered + "?tenant=1",
		"https://app.example.com/oauth/callback/?tenant=1", "https://app.example.com/oauth//callback?tenant=1",
		"https://app.example.com/oauth/./callback?tenant=1", "https://app.example.com/oauth/x/../callback?tenant=1",
		"https://app.example.com/oauth/x/..%2fcallback?tenant=1", "https://app.example.com/oauth/%63allback?tenant=1",
		"https://app.example.com/oauth/callback;x?tenant=1", "https://app.example.com/OAuth/callback?tenant=1",
		"https://app.example.com\\oauth\\callback?tenant=1", "https:\\\\app.example.com/oauth/callback?tenant=1",
		"https://app.example.com/oauth/callback\\?tenant=1", "https://evil.example/oauth/callback?tenant=1",
		"https://app.example.com@evil.example/oauth/callback?tenant=1",
		"https://evil.example@app.example.com/oauth/callback?tenant=1",
		"https://user:word@app.example.com/oauth/callback?tenant=1",
		"https://app.example.com:443/oauth/callback?tenant=1", "https://app.example.com:8443/oauth/callback?tenant=1",
		"https://app.example.com:/oauth/callback?tenant=1", "http://app.example.com/oauth/callback?tenant=1",
		"HTTPS://app.example.com/oauth/callback?tenant=1", "https://APP.example.com/oauth/callback?tenant=1",
		"https://app.example.com./oauth/callback?tenant=1",
		"https://app.example.com.evil.example/oauth/callback?tenant=1",
		"https://evil.app.example.com/oauth/callback?tenant=1", "https://app\u3002example.com/oauth/callback?tenant=1",
		"https://\u0430pp.example.com/oauth/callback?tenant=1",
		"https://xn--pp-7lc.example.com/oauth/callback?tenant=1",
		"//app.example.com/oauth/callback?tenant=1", "/oauth/callback?tenant=1", "javascript:alert(1)//" + registered,
		"data:text/html," + registered, "https://app.example.com/oauth/callback?TENANT=1",
		"https://app.example.com/oauth/callback?tenant=%31", "https://app.example.com/oauth/callback%3ftenant=1",
		"https://evil.example/?" + registered, "https://evil.example/#" + registered, "*", "https://*/", "null",
	} {
		for _, native := range []bool{false, true} {
			if (domain.Client{RedirectURIs: []string{registered}, Native: native}).MayRedirect(uri) {
				t.Errorf("%q is allowed", uri)
			}
		}
	}
	two := domain.Client{RedirectURIs: []string{"x:/a", registered}}
	if !two.MayRedirect(registered) || !two.MayRedirect("x:/a") {
		t.Error("a registered address is not allowed")
	}
	if (domain.Client{RedirectURIs: []string{""}}).MayRedirect("") || (domain.Client{}).MayRedirect("") {
		t.Error("no address is allowed")
	}
}

// A native application listens at any port that is free.
func TestNativeClientMayUseAnyLoopbackPort(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		registered, asked string
		native, want      bool
	}{
		{"http://127.0.0.1/cb", "http://127.0.0.1:50123/cb", true, true},
		{"http://127.0.0.1:8000/cb", "http://127.0.0.1:50123/cb", true, true},
		{"http://127.0.0.1:8000/cb", "http://127.0.0.1/cb", true, true},
		{"http://[::1]/cb?a=b", "http://[::1]:1/cb?a=b", true, true},
		{"http://localhost", "http://localhost:65535", true, true},
		{"http://127.0.0.1/cb", "http://127.0.0.1:50123/cb", false, false},
		{"http://127.0.0.1/cb", "http://localhost:50123/cb", true, false},
		{"http://127.0.0.1/cb", "https://127.0.0.1:50123/cb", true, false},
		{"https://127.0.0.1/cb", "https://127.0.0.1:50123/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:50123/cb/", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:50123/cb?x", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:50123@evil.example/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:@evil.example/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1@evil.example/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1.evil.example/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:80.evil.example/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:0/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:080/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:65536/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:+80/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:-1/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:/cb", true, false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:\u0661/cb", true, false},
		{"http://127.0.0.1", "http://127.0.0.1:80#x", true, false},
		{"http://127.0.0.1", "http://127.0.0.1\\@evil.example", true, false},
		{"http://localhost", "http://localhostevil.example", true, false},
		{"http://app.example/cb", "http://app.example:81/cb", true, false},
	} {
		c := domain.Client{RedirectURIs: []string{test.registered}, Native: test.native}
		if got := c.MayRedirect(test.asked); got != test.want {
			t.Errorf("%s for %s, native %v: %v", test.asked, test.registered, test.native, got)
		}
	}
}
