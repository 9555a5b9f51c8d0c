package secret_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"herald/shared/secret"
)

func TestTokenForm(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^hrld_[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 1000 {
		token := secret.PersonalAccessToken.New().Reveal()
		if !form.MatchString(token) || seen[token] || !secret.PersonalAccessToken.Begins(token) ||
			!secret.PersonalAccessToken.WellFormed(token) {
			t.Fatalf("made %q", token)
		}
		seen[token] = true
	}
}

// A token with any change is not well-formed.
func TestTokenIsNotMalleable(t *testing.T) {
	t.Parallel()
	for range 20 {
		token := secret.PersonalAccessToken.New().Reveal()
		for i := range token {
			for bit := range 8 {
				flipped := []byte(token)
				flipped[i] ^= 1 << bit
				refuse(t, string(flipped))
			}
			refuse(t, token[:i])
			refuse(t, token[:i]+token[i+1:])
			refuse(t, token[:i]+"0"+token[i:])
			for _, r := range []rune{unicode.ToUpper(rune(token[i])), unicode.ToLower(rune(token[i]))} {
				if r != rune(token[i]) {
					refuse(t, token[:i]+string(r)+token[i+1:])
				}
			}
			if i+1 < len(token) && token[i] != token[i+1] {
				refuse(t, token[:i]+string(token[i+1])+string(token[i])+token[i+2:])
			}
		}
		for _, other := range []string{strings.ToUpper(token), strings.ToLower(token), " " + token, token + "\n",
			token + token, "", "hrld_", "Bearer " + token} {
			refuse(t, other)
		}
	}
}

func refuse(t *testing.T, token string) {
	t.Helper()
	if secret.PersonalAccessToken.WellFormed(token) {
		t.Errorf("%q is well formed", token)
	}
}

func FuzzWellFormedToken(f *testing.F) {
	f.Add(secret.PersonalAccessToken.New().Reveal())
	f.Add("hrld_")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		if secret.PersonalAccessToken.WellFormed(s) && (!secret.PersonalAccessToken.Begins(s) || len(s) != 54) {
			t.Errorf("%q is well formed", s)
		}
	})
}

func TestHash(t *testing.T) {
	t.Parallel()
	if got := hex.EncodeToString(
		secret.Hash("abc")); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" ||
		len(secret.Hash("")) != sha256.Size {
		t.Errorf("not SHA-256 (FIPS 180-4): %s", got)
	}
}

// Chi-squared with 61 degrees of freedom: 140 is exceeded once in 10⁷ times, while
// the bias of a bare remainder gives thousands.
func TestRandomStringIsUniform(t *testing.T) {
	t.Parallel()
	const n = 620_000
	counts := map[rune]int{}
	for _, r := range secret.RandomString(n) {
		counts[r]++
	}
	sum := 0.0
	for _, c := range counts {
		d := float64(c) - n/62
		sum += d * d / (n / 62)
	}
	if len(counts) != 62 || sum > 140 {
		t.Errorf("%d characters, chi-squared %.0f", len(counts), sum)
	}
	for _, n := range []int{0, 1, 64} {
		if s := secret.RandomString(n); len(s) != n || strings.ContainsFunc(s, func(r rune) bool {
			return counts[r] == 0
		}) {
			t.Errorf("%d characters: %q", n, s)
		}
	}
}

// A token that follows from another one is a token like others, and needs both the token and the seed.
func TestTokenFollowsFromAnother(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, token := range []string{"a", "b"} {
		for _, seed := range []string{"", "1", "2"} {
			made := secret.RefreshToken.From(token, []byte(seed)).Reveal()
			if again := secret.RefreshToken.From(token, []byte(seed)).Reveal(); again != made || seen[made] ||
				!secret.RefreshToken.WellFormed(made) {
				t.Errorf("%q, again %q", made, again)
			}
			seen[made] = true
		}
	}
	for range 1000 { // some have leading zeros
		made := secret.RefreshToken.From(secret.RandomString(9), nil).Reveal()
		if !secret.RefreshToken.WellFormed(made) {
			t.Fatalf("%q", made)
		}
	}
}
