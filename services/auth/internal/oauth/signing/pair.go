package signing

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"

	"herald/services/auth/internal/domain"
)

// bits is the size of RSA keys, the least that RS256 allows (RFC 7518 section 3.3).
const bits = 2048

// NewPair makes a key pair of an algorithm and returns it as PKCS #8 in DER. An RSA pair takes about a tenth of a
// second.
func NewPair(a domain.Algorithm) ([]byte, error) {
	var pair crypto.Signer
	var err error
	switch a {
	case domain.RS256:
		pair, err = rsa.GenerateKey(rand.Reader, bits)
	default:
		err = fmt.Errorf("unknown algorithm %q", a)
	}
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	return der, nil
}

// parsePair parses what NewPair returned.
func parsePair(der []byte) (crypto.Signer, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	pair, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T signs nothing", parsed)
	}
	return pair, nil
}
