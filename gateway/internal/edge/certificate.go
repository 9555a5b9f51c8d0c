package edge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is how often the files of a certificate are looked at, as long as there are new connections.
const lookEvery = time.Second

// Certificate is the certificate of the port with its key. Both are files, which are read again after they have
// changed, so that whoever renews them need not restart the gateway.
type Certificate struct {
	cert, key string
	log       *slog.Logger
	now       func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
	files   [2]stamp
	looked  time.Time
	failure string // of the last look
}

// stamp says whether a file has changed.
type stamp struct {
	changed time.Time
	size    int64
}

// LoadCertificate reads a chain of certificates and its key, both in PEM.
func LoadCertificate(cert, key string, now func() time.Time, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, now: now, log: log, looked: now()}
	var err error
	if c.files, err = c.stamps(); err != nil {
		return nil, err
	}
	return c, c.read()
}

// Config returns the settings with which the port serves TLS.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(h.Context()), nil },
	}
}

// Leaf returns the certificate that new connections get.
func (c *Certificate) Leaf(ctx context.Context) *x509.Certificate { return c.get(ctx).Leaf }

// get returns the certificate for a new connection. One that cannot be read does not replace the last one: a file may
// be written at this moment, and a wrong one must not end the service.
func (c *Certificate) get(ctx context.Context) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookEvery {
		c.looked = now
		c.look(ctx)
	}
	return c.current
}

// look reads the files if they have changed. It says once why it cannot.
func (c *Certificate) look(ctx context.Context) {
	files, err := c.stamps()
	if err == nil {
		if files == c.files {
			return
		}
		c.files = files
		err = c.read()
	}
	switch {
	case err == nil:
		c.failure = ""
		c.log.InfoContext(ctx, "the port has a new certificate", "until", c.current.Leaf.NotAfter)
	case err.Error() != c.failure:
		c.failure = err.Error()
		c.log.ErrorContext(ctx, "the changed certificate of the port cannot be used; the last one stays", "cause", err)
	}
}

// read reads the files.
func (c *Certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("HERALD_TLS_CERT_FILE and HERALD_TLS_KEY_FILE: %w", err)
	}
	if until := pair.Leaf.NotAfter; c.now().After(until) {
		return fmt.Errorf("HERALD_TLS_CERT_FILE: the certificate has expired at %s", until.Format(time.RFC3339))
	}
	c.current = &pair
	return nil
}

// stamps looks at the files.
func (c *Certificate) stamps() (all [2]stamp, err error) {
	for i, file := range [...]struct{ setting, name string }{
		{"HERALD_TLS_CERT_FILE", c.cert}, {"HERALD_TLS_KEY_FILE", c.key},
	} {
		if file.name == "" {
			return all, fmt.Errorf("%s is not set: TLS needs a certificate and its key", file.setting)
		}
		info, err := os.Stat(file.name)
		if err != nil {
			return all, fmt.Errorf("%s: %w", file.setting, err)
		}
		all[i] = stamp{info.ModTime(), info.Size()}
	}
	return all, nil
}
