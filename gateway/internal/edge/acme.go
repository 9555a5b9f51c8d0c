package edge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"herald/shared/retry"
)

const (
	// awayPause is how long after an ACME server could not be reached it is asked again.
	awayPause = 5 * time.Second
	// After a refusal the first pause is refusedPause, and each one is twice as long as the last, up to longestPause.
	// Let's Encrypt allows five failed tries for a name in an hour.
	refusedPause, longestPause = time.Minute, time.Hour

	day = 24 * time.Hour
)

var (
	errAsking = errors.New("the ACME server is asked for a certificate")
	errShared = errors.New("another gateway asks for the certificate")
)

// ACME is the settings with which the port gets its certificate by itself (RFC 8555).
type ACME struct {
	Directory string `env:"HERALD_ACME_DIRECTORY"`
	Email     string `env:"HERALD_ACME_EMAIL"`
	Folder    string `env:"HERALD_ACME_CACHE_DIR"`
}

// Help implements boot.Documented.
func (ACME) Help() map[string]string {
	return map[string]string{
		"HERALD_ACME_DIRECTORY": "letsencrypt, or the https URL of the directory of another ACME server, from which " +
			"the port gets and renews a certificate for the host of HERALD_PUBLIC_URL; setting it accepts the " +
			"server's terms of service",
		"HERALD_ACME_EMAIL": "address that the ACME server may write to about the certificate",
		"HERALD_ACME_CACHE_DIR": "folder of the certificate, its key and the key of the ACME account; all gateways " +
			"share it",
	}
}

// Issued is a certificate of the port from an ACME server. It is for one name only, and no other one is asked for.
type Issued struct {
	ACME
	host string
	log  *slog.Logger
	now  func() time.Time
	// hello is that of every client to the manager: it would ask for a second certificate for clients without ECDSA.
	hello *tls.ClientHelloInfo

	mu      sync.Mutex
	manager *autocert.Manager
	failure error // why there is no certificate, or nil
}

// NewIssued prepares the certificate of the host of the public URL. Run gets it.
func NewIssued(c ACME, public *url.URL, now func() time.Time, log *slog.Logger) (*Issued, error) {
	if c.Directory == "letsencrypt" {
		c.Directory = acme.LetsEncryptURL
	}
	directory, err := url.Parse(c.Directory)
	if err != nil || directory.Scheme != "https" || directory.Host == "" {
		return nil, errors.New("HERALD_ACME_DIRECTORY is neither letsencrypt nor a URL that begins with https")
	}
	host := public.Hostname()
	if net.ParseIP(host) != nil || !strings.Contains(host, ".") {
		return nil, fmt.Errorf("HERALD_ACME_DIRECTORY: the host %s of HERALD_PUBLIC_URL is no name of a domain, and "+
			"gets no certificate", host)
	}
	if c.Folder == "" {
		return nil, errors.New("HERALD_ACME_CACHE_DIR is not set: the certificate must outlast a restart")
	}
	// What one server has issued is not taken for another's.
	c.Folder = filepath.Join(c.Folder, directory.Host)
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("HERALD_ACME_CACHE_DIR: %w", err)
	}
	i := &Issued{ACME: c, host: host, log: log, now: now, failure: errAsking, hello: &tls.ClientHelloInfo{
		ServerName: host, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	}}
	i.manager = i.newManager()
	return i, nil
}

func (i *Issued) newManager() *autocert.Manager {
	return &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(i.Folder), HostPolicy: autocert.HostWhitelist(i.host),
		Email: i.Email, Client: &acme.Client{DirectoryURL: i.Directory},
	}
}

// Config returns the settings with which the port serves TLS.
func (i *Issued) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1", acme.ALPNProto}, GetCertificate: i.answer,
	}
}

// answer returns the certificate for a new connection, or the proof for the ACME server (TLS-ALPN-01, RFC 8737).
func (i *Issued) answer(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if !strings.EqualFold(hello.ServerName, i.host) {
		return nil, fmt.Errorf("the port has no certificate for the name %q", hello.ServerName)
	}
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) {
		i.mu.Lock()
		m := i.manager
		i.mu.Unlock()
		return m.GetCertificate(hello)
	}
	return i.current()
}

// current returns the certificate. A client does not wait until there is one, nor is the ACME server asked for it.
func (i *Issued) current() (*tls.Certificate, error) {
	i.mu.Lock()
	m, failure := i.manager, i.failure
	i.mu.Unlock()
	if failure != nil {
		return nil, failure
	}
	return m.GetCertificate(i.hello)
}

// Leaf returns the certificate that new connections get, or nil while there is none.
func (i *Issued) Leaf(context.Context) *x509.Certificate {
	c, err := i.current()
	if err != nil {
		return nil
	}
	return c.Leaf
}

// Ready returns why clients get no certificate that is valid.
func (i *Issued) Ready(context.Context) error {
	c, err := i.current()
	if err != nil {
		return err
	}
	if until := c.Leaf.NotAfter; i.now().After(until) {
		return fmt.Errorf("the certificate has expired at %s, and %s has renewed none", until.Format(time.RFC3339),
			i.Directory)
	}
	return nil
}

// Run gets the certificate, from the folder or else from the ACME server. Afterwards the manager renews it by itself,
// and Run logs if it does not, until ctx ends.
func (i *Issued) Run(ctx context.Context) {
	i.get(ctx)
	for pause := time.Duration(0); retry.Wait(ctx, pause); {
		pause = i.checkRenewal()
	}
}

// checkRenewal logs that the certificate should have been renewed for some time. It returns when to check again. The
// manager tries every hour, and does not say why it fails.
func (i *Issued) checkRenewal() (pause time.Duration) {
	c, err := i.current()
	if err != nil {
		return awayPause
	}
	left := c.Leaf.NotAfter.Sub(i.now())
	begins := min(c.Leaf.NotAfter.Sub(c.Leaf.NotBefore)/3, 30*day) // when the manager begins to try
	if left < begins*3/4 {
		i.log.Error("the certificate of the port is not renewed: does port 443 still lead to this port, and can the "+
			"ACME server be reached?", "host", i.host, "until", c.Leaf.NotAfter, "directory", i.Directory)
	}
	return min(begins/4, day)
}

// get asks for the certificate until there is one or ctx ends. A cause is logged once.
func (i *Issued) get(ctx context.Context) {
	said := ""
	for refused := refusedPause; ; {
		before := i.written()
		err := i.try()
		if err == nil {
			return
		}
		if err.Error() != said {
			said = err.Error()
			i.log.ErrorContext(ctx, "the port has no certificate", "host", i.host, "cause", err)
		}
		pause := awayPause
		if !away(err) && !errors.Is(err, errShared) {
			pause, refused = refused, min(2*refused, longestPause)
		}
		if !i.wait(ctx, pause, before) {
			return
		}
	}
}

// wait waits for a pause, or until another gateway has got a certificate since one was written before. It returns false
// when ctx ends.
func (i *Issued) wait(ctx context.Context, pause time.Duration, before time.Time) bool {
	for ; pause > 0; pause -= awayPause {
		if !retry.Wait(ctx, min(pause, awayPause)) {
			return false
		}
		if i.written() != before {
			break
		}
	}
	return true
}

// written returns when the file of the certificate was written, or the zero time if there is none.
func (i *Issued) written() (at time.Time) {
	if info, err := os.Stat(filepath.Join(i.Folder, i.host)); err == nil {
		at = info.ModTime()
	}
	return at
}

// away reports whether the ACME server could not be reached.
func away(err error) bool {
	_, is := errors.AsType[*url.Error](err)
	return is
}

// try asks for the certificate once. A manager that has failed would say why only once in a minute.
func (i *Issued) try() error {
	unlock, err := i.lock()
	if err == nil {
		defer unlock()
		m := i.newManager()
		i.mu.Lock()
		i.manager = m
		i.mu.Unlock()
		var got *tls.Certificate
		if got, err = m.GetCertificate(i.hello); err == nil {
			i.log.Info("the port has a certificate", "host", i.host, "until", got.Leaf.NotAfter)
		} else if !away(err) { // the error of the manager does not say what the server has found
			err = fmt.Errorf("%s has issued none: does port 443 of %s lead to this port, without a proxy that takes "+
				"TLS? %w", i.Directory, i.host, err)
		}
	}
	i.mu.Lock()
	i.failure = err
	i.mu.Unlock()
	return err
}

// lock keeps gateways that start at the same time from asking for a certificate each: the second one finds that of the
// first.
func (i *Issued) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(i.Folder, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("HERALD_ACME_CACHE_DIR: %w", err)
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errShared
		}
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}
