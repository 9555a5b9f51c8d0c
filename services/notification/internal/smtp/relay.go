package smtp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"herald/shared/secret"
)

// security is how a relay's connections are encrypted.
type security string

const (
	implicit security = "implicit" // TLS from the first byte (RFC 8314)
	required security = "required" // STARTTLS (RFC 3207), or the mail is not sent
	optional security = "optional" // STARTTLS if it is offered
	off      security = "off"
)

// Relay is the mail server to which we send. It keeps a few connections and reuses them.
type Relay struct {
	host, port string
	user       string
	password   secret.Text
	security   security
	tls        *tls.Config
	dial       func(ctx context.Context, network, address string) (net.Conn, error)
	slots      chan struct{}

	mu     sync.Mutex
	idle   []*session
	closed bool
}

// NewRelay parses the mail server's address:
//
//	smtp://[user:password@]host:port[?starttls=required|optional|off][&ca=FILE]
//	smtps://[user:password@]host:port[?ca=FILE]
//
// Without starttls, STARTTLS is used if the mail server offers it. Certificates are always verified against the PEM
// file ca or the system's authorities. A password is sent only encrypted or to a loopback address. Errors never quote
// the address, because it has the password.
func NewRelay(address secret.Text) (*Relay, error) {
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Opaque != "" || strings.TrimPrefix(u.Path, "/") != "" || u.Fragment != "" {
		return nil, errors.New("the address is not of the form smtp://user:password@host:port, with %3F for a ? in " +
			"the password and so on")
	}
	r := &Relay{host: u.Hostname(), port: u.Port(), slots: make(chan struct{}, maxConnections)}
	if port, err := strconv.ParseUint(r.port, 10, 16); err != nil || port == 0 || r.host == "" {
		return nil, errors.New("the address needs a host and a port, such as smtp://mail.example.com:587")
	}
	r.dial = (&net.Dialer{Timeout: dialTime}).DialContext
	r.tls = &tls.Config{ServerName: r.host}
	if err := r.readUser(u.User); err != nil {
		return nil, err
	}
	if err := r.readOptions(u); err != nil {
		return nil, err
	}
	if r.user != "" && r.security == off && !r.loopback() {
		return nil, errors.New("starttls=off would send the password unencrypted over the network")
	}
	return r, nil
}

// String returns the address without user name and password.
func (r *Relay) String() string {
	return fmt.Sprintf("relay %s (TLS %s)", net.JoinHostPort(r.host, r.port), r.security)
}

// GoString is String, for %#v.
func (r *Relay) GoString() string { return r.String() }

func (r *Relay) readUser(info *url.Userinfo) error {
	if info == nil {
		return nil
	}
	password, _ := info.Password()
	if info.Username() == "" || password == "" {
		return errors.New("the address needs both a user name and a password, or neither")
	}
	if strings.ContainsFunc(info.Username()+password, unicode.IsControl) {
		return errors.New("the user name or password has control characters")
	}
	r.user, r.password = info.Username(), secret.NewText(password)
	return nil
}

func (r *Relay) readOptions(u *url.URL) error {
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("what follows the ? cannot be read")
	}
	switch u.Scheme {
	case "smtp":
		r.security = optional
	case "smtps":
		r.security = implicit
	default:
		return errors.New("the address must begin with smtp:// or smtps://")
	}
	for name, values := range options {
		// The unknown name is not quoted: it may be a part of a password that has a ? in it.
		switch {
		case len(values) > 1:
			return errors.New("an option is given twice")
		case name == "ca":
			if err := r.trust(values[0]); err != nil {
				return err
			}
		case name == "starttls" && u.Scheme == "smtp":
			r.security = security(values[0])
			if r.security != required && r.security != optional && r.security != off {
				return errors.New("starttls must be required, optional or off")
			}
		default:
			return fmt.Errorf("%s:// has no such option; there are ca and, for smtp://, starttls", u.Scheme)
		}
	}
	return nil
}

func (r *Relay) trust(file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("ca: %w", err)
	}
	r.tls.RootCAs = x509.NewCertPool()
	if !r.tls.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("ca: %s holds no certificate in PEM", file)
	}
	return nil
}

func (r *Relay) loopback() bool {
	address, err := netip.ParseAddr(r.host)
	return r.host == "localhost" || err == nil && address.IsLoopback()
}
