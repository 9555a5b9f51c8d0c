package secret_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"herald/shared/fault"
	"herald/shared/queue"
	"herald/shared/secret"
)

func TestPairs(t *testing.T) {
	t.Parallel()
	pair, err := secret.NewPairs().Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode([]byte(pair.Private.Reveal()))
	if block == nil || block.Type != "RSA PRIVATE KEY" || len(rest) > 0 {
		t.Fatal("not an RSA PRIVATE KEY in PEM")
	}
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil || private.N.BitLen() != 2048 {
		t.Fatalf("%v", err)
	}
	public, err := x509.ParsePKIXPublicKey(pair.Public)
	if err != nil || !private.PublicKey.Equal(public) {
		t.Fatalf("the public key is another's: %v", err)
	}
	digest := sha256.Sum256([]byte("text"))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest[:])
	if err != nil || rsa.VerifyPKCS1v15(public.(*rsa.PublicKey), crypto.SHA256, digest[:], signature) != nil {
		t.Errorf("the pair does not sign: %v", err)
	}
	if printed := fmt.Sprintf("%+v %#v", pair, pair); strings.Contains(printed, "PRIVATE KEY") {
		t.Error("the private key prints")
	}
}

// Too many calls at once get ErrOverloaded; the others get their pairs.
func TestPairsAreBounded(t *testing.T) {
	t.Parallel()
	pairs := secret.NewPairs()
	callers := 20 + queue.Processors()
	errs := make(chan error)
	for range callers {
		go func() {
			_, err := pairs.Make(t.Context())
			errs <- err
		}()
	}
	made := 0
	for range callers {
		switch err := <-errs; {
		case err == nil:
			made++
		case !errors.Is(err, fault.ErrOverloaded) || fault.From(err).RetryAfter == 0:
			t.Error(err)
		}
	}
	if made < 2 {
		t.Errorf("%d pairs", made)
	}
	if _, err := pairs.Make(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// The flood of one organization makes another wait for the pair that is being made, not for all that wait before it,
// and leaves half of the processors free.
func TestPairsOfOrganizationsTakeTurns(t *testing.T) {
	t.Parallel()
	pairs, made := secret.NewPairs(), make(chan string, 100)
	flood, stop := context.WithCancel(queue.In(t.Context(), "flood"))
	var all sync.WaitGroup
	give := func(ctx context.Context, organization string) {
		all.Go(func() {
			if _, err := pairs.Make(ctx); err == nil {
				made <- organization
			}
		})
	}
	for range 60 {
		give(flood, "flood")
	}
	<-made // the line is full
	give(queue.In(t.Context(), "other"), "other")
	before := 0
	for <-made == "flood" {
		before++
	}
	stop()
	all.Wait()
	if half := max(queue.Processors()/2, 1); before > half+8 {
		t.Errorf("%d pairs of the flood came first, %d are made at once", before, half)
	}
}

// publicPEM returns a public key in both forms.
func publicPEM(t testing.TB, key *rsa.PublicKey) (pkix, pkcs1 []byte) {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(key)})
}

// modulus returns an odd number of so many bits, which a parser takes for a modulus.
func modulus(bits uint) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return n.SetBit(n, 0, 1)
}

func TestParsePublicKey(t *testing.T) {
	t.Parallel()
	for _, bits := range []uint{2048, 3072, 4096} {
		key := &rsa.PublicKey{N: modulus(bits), E: 65537}
		pkix, pkcs1 := publicPEM(t, key)
		for _, text := range [][]byte{
			pkix, pkcs1, append([]byte("\n\n"), pkix...), append(bytes.Clone(pkcs1), " \r\n"...), bytes.ReplaceAll(pkix,
				[]byte("\n"), []byte("\r\n")),
		} {
			der, err := secret.ParsePublicKey(text)
			if err != nil {
				t.Errorf("%d bits: %v", bits, err)
				continue
			}
			if parsed, err := x509.ParsePKIXPublicKey(der); err != nil || !key.Equal(parsed) {
				t.Errorf("%d bits became another key: %v", bits, err)
			}
		}
	}
}

func TestParsePublicKeyRefuses(t *testing.T) {
	t.Parallel()
	pkix := func(key any) []byte {
		der, err := x509.MarshalPKIXPublicKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := pkix(&rsa.PublicKey{N: modulus(2048), E: 65537})
	even := modulus(2048)
	even.SetBit(even, 0, 0)
	for name, c := range map[string]struct {
		text   []byte
		reason string
	}{
		"nothing":      {nil, "PEM"},
		"garbage":      {[]byte("ssh-rsa AAAA"), "PEM"},
		"binary":       {[]byte{0x30, 0x82, 0xff, 0xff}, "PEM"},
		"cut":          {good[:len(good)-10], "PEM"},
		"bad base64":   {bytes.Replace(good, []byte("\nMII"), []byte("\n%%%"), 1), "PEM"},
		"two":          {append(bytes.Clone(good), good...), "followed"},
		"trailing":     {append(bytes.Clone(good), 'x'), "followed"},
		"1024 bits":    {pkix(&rsa.PublicKey{N: modulus(1024), E: 65537}), "2048 to 4096"},
		"2047 bits":    {pkix(&rsa.PublicKey{N: modulus(2047), E: 65537}), "2048 to 4096"},
		"4097 bits":    {pkix(&rsa.PublicKey{N: modulus(4097), E: 65537}), "2048 to 4096"},
		"even modulus": {pkix(&rsa.PublicKey{N: even, E: 65537}), "RSA"},
		"exponent 1":   {pkix(&rsa.PublicKey{N: modulus(2048), E: 1}), "RSA"},
		"exponent 4":   {pkix(&rsa.PublicKey{N: modulus(2048), E: 4}), "RSA"},
		"P-256":        {pkix(&ec.PublicKey), "RSA"},
		"Ed25519":      {pkix(ed), "RSA"},
		"certificate":  {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{0x30, 0}}), "RSA"},
		"wrong type":   {bytes.ReplaceAll(good, []byte("PUBLIC KEY"), []byte("RSA PUBLIC KEY")), "RSA"},
		"long":         {bytes.Repeat([]byte(" "), 16<<10+1), "long"},
		"private key":  {pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte(planted)}), "private"},
		"PKCS #8":      {pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte(planted)}), "private"},
	} {
		t.Run(name, func(t *testing.T) {
			der, err := secret.ParsePublicKey(c.text)
			f := fault.From(err)
			if der != nil || !errors.Is(err, fault.ErrPublicKeyInvalid) || len(f.Fields) != 1 ||
				f.Fields[0].Path != "publicKey" || !strings.Contains(f.Message, c.reason) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzParsePublicKey(f *testing.F) {
	pkix, pkcs1 := publicPEM(f, &rsa.PublicKey{N: modulus(2048), E: 65537})
	f.Add(pkix)
	f.Add(pkcs1)
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----"))
	f.Fuzz(func(t *testing.T, text []byte) {
		der, err := secret.ParsePublicKey(text)
		if err != nil {
			if !errors.Is(err, fault.ErrPublicKeyInvalid) {
				t.Error(err)
			}
			return
		}
		again, err := secret.ParsePublicKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		if err != nil || !bytes.Equal(again, der) {
			t.Errorf("what was taken is refused: %v", err)
		}
	})
}
