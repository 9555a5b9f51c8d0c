package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
)

// Sum is the number of rows of a table and their digest. The order of the rows does not matter, because a table has
// none.
type Sum struct {
	Rows   int64  `json:"rows"`
	Digest Digest `json:"digest"`
}

// Digest is the sum of the first 128 bits of the SHA-256 of all rows.
type Digest struct{ high, low uint64 }

// MarshalText writes 32 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%016x%016x", d.high, d.low), nil
}

// UnmarshalText reads 32 hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error {
	var number [16]byte
	if n, err := hex.Decode(number[:], text[:min(len(text), 32)]); err != nil || n != 16 || len(text) != 32 {
		return fmt.Errorf("%q is not a digest", text)
	}
	d.high, d.low = binary.BigEndian.Uint64(number[:8]), binary.BigEndian.Uint64(number[8:])
	return nil
}

// add adds rows, each of which ends with a line feed. COPY writes a line feed inside of a row as \n.
func (s *Sum) add(text []byte) {
	for len(text) > 0 {
		row := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			row = text[:i]
			text = text[i+1:]
		} else {
			text = nil
		}
		hash := sha256.Sum256(row)
		s.plus(Sum{1, Digest{binary.BigEndian.Uint64(hash[:8]), binary.BigEndian.Uint64(hash[8:16])}})
	}
}

// plus adds another sum.
func (s *Sum) plus(other Sum) {
	var carry uint64
	s.Digest.low, carry = bits.Add64(s.Digest.low, other.Digest.low, 0)
	s.Digest.high, _ = bits.Add64(s.Digest.high, other.Digest.high, carry)
	s.Rows += other.Rows
}
