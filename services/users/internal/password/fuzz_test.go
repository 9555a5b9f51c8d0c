package password

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzParse checks that every accepted hash has a bounded cost, keeps its text and can be verified,
// and that the error for a refused one does not contain it.
func FuzzParse(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.encoded)
	}
	for _, encoded := range costly {
		f.Add(encoded)
	}
	for _, format := range formats {
		f.Add(format.prefix)
		f.Add(format.prefix + "$$$$")
		f.Add(format.prefix + "v=19$m=-1,t=9223372036854775808,p=1000000000$$")
	}
	f.Fuzz(func(t *testing.T, encoded string) {
		hash, err := Parse(encoded)
		if err != nil {
			refused, typed := errors.AsType[*FormatError](err)
			if !typed || refused.Format == "" || refused.Reason == "" || !hash.IsZero() {
				t.Fatalf("%q: %v", encoded, err)
			}
			return
		}
		if hash.Encoded() != encoded || len(encoded) > maxEncoded || fmt.Sprintf("%+v", hash) != "***" {
			t.Fatalf("%q became %q", encoded, hash.Encoded())
		}
		if hash.IsZero() {
			return
		}
		_, kept := hash.open()
		compressions, memory := cost(t, kept)
		if compressions > 1<<26 || memory > 256<<20 {
			t.Fatalf("%q costs %d compressions, %d bytes", encoded, compressions, memory)
		}
		if compressions < 1<<15 && memory < 1<<20 {
			kept.matches([]byte("password"))
			kept.matches(nil)
		}
	})
}

// cost returns the work for the longest accepted password, in calls of the compression function or
// similar, and the memory.
func cost(t *testing.T, s scheme) (compressions, memory int) {
	t.Helper()
	switch s := s.(type) {
	case pbkdf2Hash:
		size := s.hash().Size()
		return s.rounds*2*((len(s.key)+size-1)/size) + len(s.salt), len(s.salt) + len(s.key)
	case bcryptHash:
		var rounds int
		if _, err := fmt.Sscanf(string(s.text[4:6]), "%02d", &rounds); err != nil {
			t.Fatal(err)
		}
		return 1042 << rounds, 1 << 12
	case argon2Hash:
		return s.passes * s.memory, s.memory << 10
	case scryptHash:
		return 2 * 2 * s.r * s.p << s.logN, 128 * s.r << s.logN
	case shaCrypt:
		return s.rounds * 20, 1 << 12
	case md5Crypt:
		return 1000 * 20, 1 << 12
	case phpass:
		return 9 << s.logRounds, 1 << 12
	case ssha:
		return 1 + len(s.salt), len(s.salt)
	}
	t.Fatalf("%s has no cost", strings.TrimPrefix(fmt.Sprintf("%T", s), "password."))
	return 0, 0
}
