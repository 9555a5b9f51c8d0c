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

// ErrPublicKey is returned for a public key that nobody could authenticate with.
var ErrPublicKey = fault.New(fault.Invalid, "PUBLIC_KEY_INVALID", "The public key is not valid")

// The sizes of RSA keys. Signatures are RS256 (RFC 7518, 3.3, asks for 2048 bits at
// least); a longer key would let a stranger choose the price of checking one.
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

// Pairs makes key pairs, a bounded number at a time: each takes a core for a while. It
// is safe for concurrent use.
type Pairs struct{ queue *queue.Queue }

// NewPairs makes a Pairs that works on so many pairs at once, at least 1, and lets so
// many calls wait.
func NewPairs(atOnce, waiting int) *Pairs { return &Pairs{queue.New(atOnce, waiting)} }

// Make makes a pair of 2048 bits. fault.ErrOverloaded where too many wait already, or
// ctx ends first.
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

// ParsePublicKey reads a caller's own public key from PEM, PUBLIC KEY (RFC 7468, 13) or
// RSA PUBLIC KEY, and returns its SubjectPublicKeyInfo in DER. ErrPublicKey says
// what is wrong with it, never what it holds.
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
	return nil, ErrPublicKey
}

func badPublicKey(reason string) error {
	return ErrPublicKey.Say("publicKey: %s", reason).On("publicKey", reason)
}
