// Package outbound makes HTTP requests to addresses that tenants choose, such as those of their applications. Such an
// address must not lead into the network in which Herald runs: it is checked when the connection is made, after every
// name was resolved, so that no spelling of an address and no change of a name gets around the check.
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
	// ErrPrivate is in the chain of the error for an address that is not reachable from the whole internet.
	ErrPrivate = errors.New("the address is not public, and HERALD_OUTBOUND_PRIVATE does not allow it")
	// ErrTooLarge is returned by the body of an answer after Config.MaxBody bytes.
	ErrTooLarge = errors.New("the answer is too large")
)

const (
	// maxHeader is how many bytes the headers of an answer may have.
	maxHeader = 16 << 10
	// idle is how long a connection waits for the next request.
	idle = 30 * time.Second
)

// Network is the setting of every service that makes such requests. OutboundPrivate is for Config.Private.
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

// Config is what a client may do.
type Config struct {
	// Private allows addresses that are not public, such as those of the own machine: for development, and for
	// instances whose applications and directories are in the same network.
	Private bool
	// Deadline bounds each request with its answer.
	Deadline time.Duration
	// MaxBody is how many bytes of an answer's body can be read, after decompression.
	MaxBody int64
	// MaxConnsPerHost bounds the connections to one host; 0 is no bound. A request waits for one, within its deadline.
	MaxConnsPerHost int
}

// Client returns a client that follows no redirects: the answer is then the redirect itself. It uses no proxy, because
// a proxy would make the connection instead of it.
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

// public refuses a connection to an address that is not public. Its parameters are those of net.Dialer.Control: the
// address has an IP address, never a name.
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

// Public reports whether an address can be reached from the whole internet (RFC 6890 and the registries of special
// addresses that it made).
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
	// globalV6 is all that has been given to networks (RFC 4291 section 2.4). Outside of it are the addresses that
	// stand for an IPv4 address behind a translator (64:ff9b::/96), the local ones (fc00::/7, fe80::/10) and ::1.
	globalV6 = netip.MustParsePrefix("2000::/3")

	special = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),       // this network, of which 0.0.0.0 is the own machine
		netip.MustParsePrefix("100.64.0.0/10"),   // behind the translator of a provider; clouds have metadata there
		netip.MustParsePrefix("192.0.0.0/24"),    // protocols
		netip.MustParsePrefix("192.0.2.0/24"),    // documentation
		netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
		netip.MustParsePrefix("198.18.0.0/15"),   // measurements
		netip.MustParsePrefix("198.51.100.0/24"), // documentation
		netip.MustParsePrefix("203.0.113.0/24"),  // documentation
		netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
		netip.MustParsePrefix("2001::/23"),       // protocols, of which Teredo has an IPv4 address in it
		netip.MustParsePrefix("2001:db8::/32"),   // documentation
		netip.MustParsePrefix("2002::/16"),       // 6to4, which has an IPv4 address in it
		netip.MustParsePrefix("3fff::/20"),       // documentation
	}
)

// bounded bounds the bodies of answers.
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

// body is the body of an answer, of which left bytes may still be read.
type body struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 { // one more, to tell the end from more
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
