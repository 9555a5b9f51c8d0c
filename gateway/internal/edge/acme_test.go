package edge_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"herald/gateway"
	"herald/gateway/internal/edge"
	"herald/shared/testkit"
)

// A certificate that was not renewed is a reason not to be ready. One from the folder needs no ACME server.
func TestExpiredCertificateIsNotReady(t *testing.T) {
	t.Parallel()
	clock, dir := &testkit.Clock{}, t.TempDir()
	keepIssued(t, filepath.Join(dir, "127.0.0.1:1"), "id.example.com", time.Now().Add(time.Hour))
	c := edge.ACME{Directory: "https://127.0.0.1:1/dir", Folder: dir}
	i, err := edge.NewIssued(c, &url.URL{Scheme: "https", Host: "id.example.com"}, clock.Now, testkit.Ground(t).Log)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Ready(t.Context()); err == nil {
		t.Error("it is ready before it has a certificate")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	i.Run(ended) // it finds the certificate before it looks whether it is to end
	if err := i.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	// The name is the same in any case.
	got, err := i.Config().GetCertificate(&tls.ClientHelloInfo{ServerName: "ID.example.com"})
	if err != nil || got.Leaf.Subject.CommonName != "kept" {
		t.Errorf("%v %v", got, err)
	}
	clock.Advance(2 * time.Hour)
	if err := i.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "has expired at") {
		t.Errorf("with an expired certificate: %v", err)
	}
}

// keepIssued writes a certificate where the gateway keeps it.
func keepIssued(t *testing.T, folder, host string, until time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	subject := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: until, DNSNames: []string{host},
	}
	subject.Subject.CommonName = "kept"
	cert, err := x509.CreateCertificate(rand.Reader, subject, subject, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		text := append(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})...)
		err = os.WriteFile(filepath.Join(folder, host), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestACMEOfNoUseEndsTheStart(t *testing.T) {
	t.Parallel()
	ground := testkit.Ground(t)
	good := edge.ACME{Directory: "letsencrypt", Folder: t.TempDir()}
	const domain = "https://id.example.com"
	for name, test := range map[string]struct {
		c            edge.ACME
		public, want string
	}{
		"no folder":           {edge.ACME{Directory: "letsencrypt"}, domain, "HERALD_ACME_CACHE_DIR"},
		"a file":              {edge.ACME{Directory: "letsencrypt", Folder: "acme.go"}, domain, "not a dir"},
		"another word":        {edge.ACME{Directory: "le", Folder: good.Folder}, domain, "neither"},
		"without TLS":         {edge.ACME{Directory: "http://ca/dir", Folder: good.Folder}, domain, "neither"},
		"an address":          {good, "https://192.0.2.1", "192.0.2.1"},
		"an address of IPv6":  {good, "https://[2001:db8::1]:8443", "2001:db8::1"},
		"this machine":        {good, "https://localhost:8080", "localhost"},
		"nothing wrong":       {good, domain, ""},
		"another public port": {good, "https://id.example.com:8443", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			public, err := url.Parse(test.public)
			if err != nil {
				t.Fatal(err)
			}
			_, err = edge.NewIssued(test.c, public, time.Now, ground.Log)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Error(err)
			}
		})
	}
	files := testkit.NewServedCertificate(t, t.TempDir(), time.Now().Add(time.Hour))
	both := gateway.Config{Listen: "127.0.0.1:0", Certificate: files.Cert, Key: files.Key, ACME: good}
	if _, err := gateway.New(t.Context(), ground, both); err == nil || !strings.Contains(err.Error(), "leave out one") {
		t.Errorf("with files too: %v", err)
	}
}
