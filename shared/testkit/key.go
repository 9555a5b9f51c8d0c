package testkit

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
)

// PublicKey returns a public key in PEM. Nobody knows its private key.
func PublicKey() []byte {
	n := new(big.Int).Lsh(big.NewInt(1), 2047)
	der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537})
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
