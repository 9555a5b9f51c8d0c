package domain

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// The characters of addresses. Redirect URIs are compared character by character. So characters that browsers would
// write in another way, such as a space or a backslash, are refused.
var (
	uriCharacters = regexp.MustCompile(`^(?:[A-Za-z0-9._~:/?\[\]@!$&'()+,;=-]|%[0-9A-Fa-f]{2})+$`)
	hostName      = regexp.MustCompile(`^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$`)
)

// redirectFault returns the reason why a user's browser must not be redirected to an address. It returns "" if it may.
func (c OIDCConfig) redirectFault(uri string) string {
	u, reason := parseURI(uri)
	switch {
	case reason != "":
		return reason
	case u.Scheme == "https" || u.Scheme == "http":
		return c.hostFault(u)
	case c.AppType != AppNative:
		return "must be an https address"
	case !strings.Contains(u.Scheme, "."):
		// RFC 8252, 8.4. This also refuses javascript:, data: and similar schemes.
		return "must be an https address, or have a scheme in reverse domain form, such as com.example.app:/callback"
	case u.Host == "" && !strings.HasPrefix(u.Path, "/"):
		return "must go on with a slash after its scheme"
	default:
		return ""
	}
}

// webFault returns the reason why a server must not be called at an address. It returns "" if it may.
func (c OIDCConfig) webFault(uri string) string {
	u, reason := parseURI(uri)
	switch {
	case reason != "":
		return reason
	case u.Scheme != "https" && u.Scheme != "http":
		return "must be an https address"
	default:
		return c.hostFault(u)
	}
}

// originFault returns the reason why a text is not an origin as browsers send it (RFC 6454, 6.2). It returns "" for an
// origin. Native applications in a web view have schemes of their own.
func (c OIDCConfig) originFault(origin string) string {
	u, reason := parseURI(origin)
	if reason != "" {
		return reason
	}
	web := u.Scheme == "https" || u.Scheme == "http"
	if web {
		reason = c.hostFault(u)
	} else if c.AppType != AppNative {
		reason = "must be an https origin"
	}
	if reason != "" {
		return reason
	}
	host := strings.ToLower(u.Host)
	if port, ok := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; ok {
		host = strings.TrimSuffix(host, port)
	}
	if host == "" || origin != u.Scheme+"://"+host {
		return "must be an origin as browsers send it: scheme://host or scheme://host:port, in small letters"
	}
	return ""
}

// parseURI parses an absolute URI without fragment (RFC 6749, 3.1.2), user or wildcard. For other texts it returns the
// reason for the refusal.
func parseURI(uri string) (*url.URL, string) {
	if strings.Contains(uri, "#") {
		return nil, "must have no fragment"
	}
	if strings.Contains(uri, "*") {
		return nil, "must have no wildcard: addresses are compared sign by sign"
	}
	if !uriCharacters.MatchString(uri) {
		return nil, "has signs that a URI cannot have unless percent-encoded"
	}
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return nil, "is not a URI"
	case u.Scheme == "":
		return nil, "must begin with a scheme"
	case u.User != nil:
		return nil, "must name no user"
	default:
		return u, ""
	}
}

// hostFault returns the reason why an http or https address must not be used. It returns "" if it may.
func (c OIDCConfig) hostFault(u *url.URL) string {
	switch {
	case !isHost(u.Host):
		return "must name a host"
	case u.Scheme == "http" && !isLoopback(u) && !c.DevMode:
		return "must begin with https, unless it is on a loopback host or the application is in development mode"
	default:
		return ""
	}
}

// isHost reports whether a text is a host name or an IP address, with or without a port.
func isHost(text string) bool {
	u := url.URL{Host: text}
	name, port := u.Hostname(), u.Port()
	if n, err := strconv.Atoi(port); strings.HasSuffix(text, ":") || port != "" && (err != nil || n < 1 || n > 65535) {
		return false
	}
	if strings.HasPrefix(text, "[") {
		address, err := netip.ParseAddr(name)
		return err == nil && address.Zone() == ""
	}
	return hostName.MatchString(name)
}

// isLoopback reports whether an address is on the user's own machine (RFC 8252, 7.3).
func isLoopback(u *url.URL) bool {
	switch name := u.Hostname(); name {
	case "127.0.0.1", "::1":
		return true
	default:
		return strings.EqualFold(name, "localhost")
	}
}

// isOpenHTTP reports whether others on the network can read the traffic with an address.
func isOpenHTTP(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && u.Scheme == "http" && !isLoopback(u)
}
