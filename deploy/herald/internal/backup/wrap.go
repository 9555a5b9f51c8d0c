package backup

import (
	"crypto/rand"
	"encoding/hex"
	"errors"

	"golang.org/x/crypto/argon2"

	"herald/shared/secret"
)

// Wrapped is master keys that a passphrase opens. The key that seals them is made of the passphrase by Argon2id
// (RFC 9106).
type Wrapped struct {
	Salt []byte `json:"salt"`
	// Time is the number of passes, and Memory is in KiB.
	Time   uint32 `json:"time"`
	Memory uint32 `json:"memory"`
	Sealed []byte `json:"sealed"`
}

const (
	// The first recommended choice of RFC 9106, section 4, is 2 GiB of memory. Smaller machines must be able to
	// restore too, so this is the second one, with more passes.
	passes = 8
	kib    = 64 << 10
	// The bounds are for a file that somebody else has made.
	mostPasses, mostKiB = 64, 1 << 20
	minPassphrase       = 12
)

// sealed is the place of the keys in the backup.
var sealed = secret.Column{Table: "backup", Name: "master_keys", Key: "format"}

// Wrap seals master keys with a passphrase.
func Wrap(keys secret.Keys, passphrase secret.Text) (*Wrapped, error) {
	if len(passphrase.Reveal()) < minPassphrase {
		return nil, errors.New("the passphrase needs at least 12 characters: it guards the key of all secrets")
	}
	w := &Wrapped{Salt: make([]byte, 16), Time: passes, Memory: kib}
	rand.Read(w.Salt)
	by, err := w.key(passphrase)
	if err != nil {
		return nil, err
	}
	w.Sealed = by.Seal([]byte(keys.Text().Reveal()), sealed, "1")
	return w, nil
}

// Open returns the master keys.
func (w *Wrapped) Open(passphrase secret.Text) (secret.Keys, error) {
	if w == nil {
		return secret.Keys{}, errors.New("the backup has no master key: it was made without a passphrase")
	}
	if w.Time < 1 || w.Time > mostPasses || w.Memory < 1 || w.Memory > mostKiB {
		return secret.Keys{}, errNoBackup
	}
	by, err := w.key(passphrase)
	if err != nil {
		return secret.Keys{}, err
	}
	text, err := by.Open(w.Sealed, sealed, "1")
	if err != nil {
		return secret.Keys{}, errors.New("the passphrase is wrong")
	}
	return secret.ParseKeys(string(text))
}

func (w *Wrapped) key(passphrase secret.Text) (secret.Keys, error) {
	key := argon2.IDKey([]byte(passphrase.Reveal()), w.Salt, w.Time, w.Memory, 4, 32)
	return secret.ParseKeys(hex.EncodeToString(key))
}
