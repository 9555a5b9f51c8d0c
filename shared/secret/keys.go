package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// ErrSeal is returned for a secret that was sealed with other keys or for another row.
var ErrSeal = errors.New("secret: cannot be opened with the keys at hand")

// ErrNoKey is returned for a text without any key.
var ErrNoKey = errors.New("there is no key")

// Keys derives every key of the system from master keys of 32 bytes. Derive and Seal use the first one. Open uses the
// one with which the secret was sealed. The other keys are from before a rotation or for the next one.
type Keys struct{ sources []source }

// source is a master key. In a process that may not have the master key, it holds keys that were derived from it.
type source struct {
	master  Text
	derived map[string]Text // by purpose, nil for a master key
}

// ParseKeys parses master keys of 64 hexadecimal digits, one per line, the newest first. It also parses the result of
// For.
func ParseKeys(text string) (Keys, error) {
	var k Keys
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s, err := parseSource(line)
		if err != nil {
			return Keys{}, err
		}
		k.sources = append(k.sources, s)
	}
	if len(k.sources) == 0 {
		return Keys{}, ErrNoKey
	}
	return k, nil
}

func parseSource(line string) (s source, err error) {
	const rule = "a master key is a line of 64 hexadecimal digits, and a line of derived keys has purpose=64 digits " +
		"for each, with a space between"
	for part := range strings.FieldsSeq(line) {
		purpose, digits, derived := strings.Cut(part, "=")
		if !derived {
			digits = part
		}
		key, err := hex.DecodeString(digits)
		if err != nil || len(key) != sha256.Size || !derived && part != line {
			return s, errors.New(rule)
		}
		if !derived {
			return source{master: NewText(string(key))}, nil
		}
		if s.derived == nil {
			s.derived = map[string]Text{}
		}
		s.derived[purpose] = NewText(string(key))
	}
	return s, nil
}

// For returns the keys that are derived from each master key for these purposes, in a form that ParseKeys reads. A
// process with only these keys can neither open sealed secrets nor derive other keys.
func (k Keys) For(purposes ...string) Text {
	var b strings.Builder
	for _, s := range k.sources {
		for i, purpose := range purposes {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(purpose + "=" + hex.EncodeToString(derive(s, purpose)))
		}
		b.WriteByte('\n')
	}
	return NewText(b.String())
}

// NewKeyText returns a new master key in the form that ParseKeys reads.
func NewKeyText() string {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails (crypto/rand)
	return hex.EncodeToString(key) + "\n"
}

// KeyID identifies a master key without revealing it.
type KeyID [keyIDSize]byte

// String returns 8 hexadecimal digits, which is enough to distinguish a few keys.
func (id KeyID) String() string { return hex.EncodeToString(id[:4]) }

// Holds reports whether keys for these purposes can be derived. Without purposes it reports whether all keys are
// master keys. A process calls it when it starts, because Derive, Seal, Open and Text panic if a key is missing.
func (k Keys) Holds(purposes ...string) bool {
	return !slices.ContainsFunc(k.sources, func(s source) bool {
		if s.derived == nil {
			return false
		}
		return len(purposes) == 0 || slices.ContainsFunc(purposes, func(purpose string) bool {
			_, held := s.derived[purpose]
			return !held
		})
	})
}

// IDs returns the ids of the keys in their order.
func (k Keys) IDs() []KeyID {
	ids := make([]KeyID, len(k.sources))
	for i, s := range k.sources {
		id, _ := box(s)
		ids[i] = KeyID(id)
	}
	return ids
}

// Each returns one Keys for each key, in the same order.
func (k Keys) Each() []Keys {
	each := make([]Keys, len(k.sources))
	for i, s := range k.sources {
		each[i] = Keys{[]source{s}}
	}
	return each
}

// Front returns the keys with the key of that id first. It returns false if there is no such key.
func (k Keys) Front(id string) (Keys, bool) {
	i := slices.IndexFunc(k.IDs(), func(known KeyID) bool { return known.String() == id })
	if i < 0 {
		return k, false
	}
	rest := slices.Delete(slices.Clone(k.sources), i, i+1)
	return Keys{slices.Insert(rest, 0, k.sources[i])}, true
}

// Text returns the master keys in the form that ParseKeys reads. It panics if a key is only derived.
func (k Keys) Text() Text {
	var b strings.Builder
	for _, s := range k.sources {
		if s.derived != nil {
			panic("secret: this process has no master key")
		}
		b.WriteString(hex.EncodeToString([]byte(s.master.Reveal())) + "\n")
	}
	return NewText(b.String())
}

// Derive returns the 32-byte key for a purpose (RFC 5869), from the first master key.
func (k Keys) Derive(purpose string) []byte { return derive(k.sources[0], purpose) }

func derive(s source, purpose string) []byte {
	if s.derived != nil {
		key, held := s.derived[purpose]
		if !held {
			panic("secret: this process has no key for " + purpose)
		}
		return []byte(key.Reveal())
	}
	key, err := hkdf.Key(sha256.New, []byte(s.master.Reveal()), nil, "herald/"+purpose, sha256.Size)
	if err != nil {
		panic(err) // the length is a constant that RFC 5869 allows
	}
	return key
}

// MAC returns the HMAC-SHA256 of parts. The length of each part is written before it, so that two different lists of
// parts never give the same input.
func MAC(key []byte, parts ...string) []byte { return MACs(key)(parts...) }

// MACs returns a function that works like MAC with the given key. It must not be called concurrently. It prepares the
// key only once, which for short texts halves the time.
func MACs(key []byte) func(parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	var text []byte
	return func(parts ...string) []byte {
		text = text[:0]
		for _, p := range parts {
			text = append(append(strconv.AppendInt(text, int64(len(p)), 10), ':'), p...)
		}
		h.Reset()
		h.Write(text)
		return h.Sum(nil)
	}
}

const keyIDSize = 8

// Column is a column of a table with sealed secrets. Each service lists its own columns, so that the secrets are
// sealed again when the master key changes.
type Column struct {
	Table, Name string
	// Key is the text column that identifies a row.
	Key string
}

// String returns table.column.
func (c Column) String() string { return c.Table + "." + c.Name }

// place returns the text to which a sealed secret is bound.
func (c Column) place(row string) []byte { return []byte(c.Table + "|" + c.Name + "|" + row) }

// Seal encrypts a secret for the column and row in which it is stored. The result is the key's id, a random nonce and
// the AES-256-GCM ciphertext.
func (k Keys) Seal(plain []byte, c Column, row string) []byte {
	id, aead := box(k.sources[0])
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce)
	return aead.Seal(append(id, nonce...), nonce, plain, c.place(row))
}

// Open decrypts what Seal returned for the same row.
func (k Keys) Open(sealed []byte, c Column, row string) ([]byte, error) {
	for _, s := range k.sources {
		id, aead := box(s)
		if len(sealed) < keyIDSize+aead.NonceSize() || !hmac.Equal(id, sealed[:keyIDSize]) {
			continue
		}
		nonce, text := sealed[keyIDSize:][:aead.NonceSize()], sealed[keyIDSize+aead.NonceSize():]
		plain, err := aead.Open(nil, nonce, text, c.place(row))
		if err != nil {
			return nil, ErrSeal
		}
		return plain, nil
	}
	return nil, ErrSeal
}

func box(s source) (id []byte, aead cipher.AEAD) {
	key := derive(s, "seal")
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	if aead, err = cipher.NewGCM(block); err != nil {
		panic(err) // AES has the block size that GCM needs
	}
	sum := sha256.Sum256(key)
	return sum[:keyIDSize:keyIDSize], aead
}
