package boot

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// ParsePublicURL parses the setting HERALD_PUBLIC_URL, which is the beginning of every link: scheme, host and
// optionally a port. The result has no path. An internationalized host is returned in its ASCII form (RFC 5890,
// A-labels).
func ParsePublicURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("HERALD_PUBLIC_URL: %q is not an address such as https://login.example.com, with a "+
			"port if need be and nothing after it", text)
	}
	host := u.Hostname()
	if net.ParseIP(host) != nil {
		return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return nil, fmt.Errorf("HERALD_PUBLIC_URL: %q is no name of a host: %w", host, err)
	}
	return &url.URL{Scheme: u.Scheme, Host: ascii + strings.TrimPrefix(u.Host, host)}, nil
}
