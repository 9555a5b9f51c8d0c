package boot

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"herald/shared/secret"
)

// Trust is the setting for TLS to Postgres and NATS.
type Trust struct {
	CAFile string `env:"HERALD_CA_FILE"`
}

// Help implements Documented.
func (Trust) Help() map[string]string {
	return map[string]string{
		"HERALD_CA_FILE": "certificates in PEM of who signs those of Postgres and NATS: with it, all connections to " +
			"both use TLS, and each server must prove the name in its URL; not for the servers of herald run itself",
	}
}

// Check returns an error if the file has no certificates.
func (t Trust) Check() error {
	if t.CAFile == "" {
		return nil
	}
	text, err := os.ReadFile(t.CAFile)
	if err != nil {
		return fmt.Errorf("HERALD_CA_FILE: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("HERALD_CA_FILE: %s has no certificate in PEM", t.CAFile)
	}
	return nil
}

// Postgres returns the URL of a database server so that connections use TLS. It returns an error for a URL that says
// otherwise.
func (t Trust) Postgres(server secret.Text) (secret.Text, error) {
	if t.CAFile == "" || server.Empty() {
		return server, nil
	}
	u, err := url.Parse(server.Reveal())
	if err != nil {
		return server, errors.New("HERALD_DATABASE_URL is not a URL") // the error would contain the password
	}
	query := u.Query()
	if mode := query.Get("sslmode"); mode != "" && mode != "verify-full" {
		return server, errors.New("HERALD_DATABASE_URL has sslmode=" + mode + ", and HERALD_CA_FILE is set: " +
			"leave out one of them")
	}
	query.Set("sslmode", "verify-full")
	query.Set("sslrootcert", t.CAFile)
	u.RawQuery = query.Encode()
	return secret.NewText(u.String()), nil
}
