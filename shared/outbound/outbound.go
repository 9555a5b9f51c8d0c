// Package outbound makes HTTP requests to addresses that tenants choose, such as those of their applications. Such an
// address must not lead into the network in which Herald runs. The check is made when the connection is made, after
// the name was resolved. So neither a special spelling of an address nor a changed DNS entry can avoid the check.
package outbound

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

var (
	// ErrPrivate is in the chain of the error for an address that is not public.
	ErrPrivate = errors.New("the address is not public, and HERALD_OUTBOUND_PRIVATE does not allow it")
	// ErrTooLarge is returned when more than Config.MaxBody bytes of an answer's body are read.
	ErrTooLarge = errors.New("the answer is too large")
)

const (
	// maxHeader is the largest size of the headers of an answer in bytes.
	maxHeader = 16 << 10
	// idle is how long a connection waits for the next request.
	idle = 30 * time.Second
)

// Network is the settings struct of every service that makes such requests. OutboundPrivate is the value for
// Config.Private.
type Network struct {
	OutboundPrivate bool `env:"HERALD_OUTBOUND_PRIVATE" envDefault:"false"`
}

// Help implements boot.Documented.
func (Network) Help() map[string]string {
	return map[string]string{
		"HERALD_OUTBOUND_PRIVATE": "true allows Herald to send requests to addresses that tenants choose, " +
			"such as those of their applications at a logout, inside its own network too: for development, " +
			"and where all who may register applications are trusted",
	}
}

// Config holds the limits of a client.
type Config struct {
	// Private allows addresses that are not public, such as those of this machine. It is for development, and for
	// instances whose applications and directories are in the same network.
	Private bool
	// Deadline is the time limit for each request with its answer.
	Deadline time.Duration
	// MaxBody is the largest size of an answer's body in bytes, after decompression.
	MaxBody int64
	// MaxConnsPerHost is the largest number of connections to one host. 0 means no limit. A request waits for a free
	// connection until its deadline.
	MaxConnsPerHost int
}

// Client returns a client that does not follow redirects, but returns the redirect as the answer. It uses no proxy,
// because then the proxy would make the connection and the check would not work.
func (c Config) Client() *http.Client {
	dialer := net.Dialer{Timeout: c.Deadline}
	if !c.Private {
		dialer.Control = public
	}
	return &http.Client{
		Timeout: c.Deadline,
		Transport: bounded{maxBody: c.MaxBody, next: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: c.Deadline, MaxResponseHeaderBytes: maxHeader,
			MaxConnsPerHost: c.MaxConnsPerHost, MaxIdleConns: 100, IdleConnTimeout: idle, ForceAttemptHTTP2: true,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// public refuses a connection to an address that is not public. Its parameters are those of net.Dialer.Control, which
// always passes an IP address and never a name.
func public(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPrivate, err)
	}
	if !Public(to.Addr()) {
		return fmt.Errorf("%w: %s", ErrPrivate, to.Addr())
	}
	return nil
}

// Public reports whether an address is reachable from the whole internet (RFC 6890 and its registries of special
// addresses).
func Public(a netip.Addr) bool {
	a = a.Unmap()
	if a.Zone() != "" || a.Is6() && !globalV6.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate()
}

var (
	// globalV6 is the range of public IPv6 addresses (RFC 4291 section 2.4). Outside of it are addresses that a
	// translator maps to IPv4 addresses (64:ff9b::/96), local addresses (fc00::/7, fe80::/10) and ::1.
	globalV6 = netip.MustParsePrefix("2000::/3")

	special = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),       // this network; 0.0.0.0 is this machine
		netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT; some clouds have metadata there
		netip.MustParsePrefix("192.0.0.0/24"),    // protocols
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
		netip.MustParsePrefix("198.18.0.0/15"),   // measurements
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
		netip.MustParsePrefix("2001::/23"),       // protocols; Teredo addresses contain an IPv4 address
		netip.MustParsePrefix("2001:db8::/32"),   // documentation
		netip.MustParsePrefix("2002::/16"),       // 6to4 addresses contain an IPv4 address
		netip.MustParsePrefix("3fff::/20"),       // documentation
	}
)

// bounded limits the size of the bodies of answers.
type bounded struct {
	next    http.RoundTripper
	maxBody int64
}

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &body{ReadCloser: answer.Body, left: b.maxBody}
	return answer, nil
}

// body is the body of an answer. left is how many bytes of it may still be read.
type body struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 { // one byte more, to detect a body that is too large
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
