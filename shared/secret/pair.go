package secret

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	"herald/shared/fault"
	"herald/shared/queue"
)

// The sizes of RSA keys. RS256 requires at least 2048 bits (RFC 7518, 3.3). The upper limit keeps the verification of
// a signature fast.
const (
	pairBits      = 2048
	maxPublicBits = 4096
	maxPublicPEM  = 16 << 10
)

// Pair is an RSA key pair.
type Pair struct {
	// Public is the SubjectPublicKeyInfo in DER (RFC 5280, 4.1.2.7).
	Public []byte
	// Private is PKCS #1 in PEM (RFC 8017, A.1.2).
	Private Text
}

// Pairs makes a limited number of key pairs at the same time, because each needs much CPU time. It is safe for
// concurrent use.
type Pairs struct{ queue *queue.Queue }

// waitingPairs is how many calls can wait for a key pair.
const waitingPairs = 16

// NewPairs returns a Pairs that uses half of the processors, so that the other half answers everything else. Calls wait
// in the line of their organization.
func NewPairs() *Pairs { return &Pairs{queue.New(queue.Processors()/2, waitingPairs)} }

// For returns the caller's own public key, which is in PEM, without a private one. If the caller sent none and may have
// a key, For makes a pair.
func (p *Pairs) For(ctx context.Context, publicKey []byte, mayHave func() error) (Pair, error) {
	if len(publicKey) > 0 {
		public, err := ParsePublicKey(publicKey)
		return Pair{Public: public}, err
	}
	if err := mayHave(); err != nil {
		return Pair{}, err
	}
	return p.Make(ctx)
}

// Make returns a new pair of 2048 bits. It returns fault.ErrOverloaded if too many calls wait or if ctx ends first.
func (p *Pairs) Make(ctx context.Context) (pair Pair, err error) {
	if refused := p.queue.Do(ctx, func() { pair, err = newPair() }); refused != nil {
		return Pair{}, refused
	}
	return pair, err
}

func newPair() (Pair, error) {
	key, err := rsa.GenerateKey(rand.Reader, pairBits)
	if err != nil {
		return Pair{}, fmt.Errorf("make a key pair: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return Pair{}, fmt.Errorf("make a key pair: %w", err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return Pair{Public: public, Private: NewText(string(private))}, nil
}

// ParsePublicKey parses a public key of the caller in PEM, PUBLIC KEY (RFC 7468, 13) or RSA PUBLIC KEY. It returns
// the key's SubjectPublicKeyInfo in DER. Otherwise it returns ErrPublicKeyInvalid with the reason, which never
// contains the key.
func ParsePublicKey(text []byte) ([]byte, error) {
	if len(text) > maxPublicPEM {
		return nil, badPublicKey("is too long")
	}
	block, rest := pem.Decode(bytes.TrimSpace(text))
	switch {
	case block == nil:
		return nil, badPublicKey("is not in PEM")
	case strings.Contains(block.Type, "PRIVATE KEY"):
		return nil, badPublicKey("is a private key; nobody but its owner may have it")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, badPublicKey("is followed by something else")
	}
	key, err := parseRSA(block)
	if err != nil {
		return nil, badPublicKey("is not an RSA public key")
	}
	if bits := key.N.BitLen(); bits < pairBits || bits > maxPublicBits {
		return nil, badPublicKey("must have 2048 to 4096 bits")
	}
	if key.E < 3 || key.E%2 == 0 || key.N.Bit(0) == 0 { // RFC 8017, 3.1
		return nil, badPublicKey("is not an RSA public key")
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("write a public key: %w", err)
	}
	return der, nil
}

func parseRSA(block *pem.Block) (*rsa.PublicKey, error) {
	switch block.Type {
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "PUBLIC KEY":
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		if key, ok := parsed.(*rsa.PublicKey); ok {
			return key, nil
		}
	}
	return nil, fault.ErrPublicKeyInvalid
}

func badPublicKey(reason string) error {
	return fault.ErrPublicKeyInvalid.Say("publicKey: %s", reason).On("publicKey", reason)
}
