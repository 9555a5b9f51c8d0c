package outside

import (
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// certificate returns a TLS configuration with the self-signed certificate that the standard library has for tests,
// and a file with which a client can trust it.
func certificate(t testing.TB) (config *tls.Config, file string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	file = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: server.TLS.Certificates}, file
}
