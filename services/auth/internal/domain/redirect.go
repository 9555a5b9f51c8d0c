package domain

import (
	"slices"
	"strconv"
	"strings"
)

// MayRedirect reports whether answers to the client may go to an address: it must be registered, character for
// character (RFC 9700 section 2.1). On a loopback host a native application may use any port (RFC 8252 section 7.3).
func (c Client) MayRedirect(uri string) bool {
	if slices.Contains(c.RedirectURIs, uri) {
		return uri != ""
	}
	if !c.Native {
		return false
	}
	asked, ok := withoutPort(uri)
	return ok && slices.ContainsFunc(c.RedirectURIs, func(registered string) bool {
		r, ok := withoutPort(registered)
		return ok && r == asked
	})
}

// withoutPort returns an address on a loopback host without its port. It reports false for all others.
func withoutPort(uri string) (string, bool) {
	for _, host := range []string{"http://127.0.0.1", "http://[::1]", "http://localhost"} {
		rest, ok := strings.CutPrefix(uri, host)
		if !ok {
			continue
		}
		if port, ok := strings.CutPrefix(rest, ":"); ok {
			end := strings.IndexAny(port, "/?")
			if end < 0 {
				end = len(port)
			}
			// Only digits are a port: what follows an @ would be another host.
			n, err := strconv.ParseUint(port[:end], 10, 16)
			if err != nil || n == 0 || port[0] == '0' || strings.Contains(port[:end], "_") {
				return "", false
			}
			rest = port[end:]
		}
		if rest == "" || rest[0] == '/' || rest[0] == '?' {
			return host + rest, true
		}
	}
	return "", false
}
