package password

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/text/unicode/norm"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

func parse(t *testing.T, encoded string) Hash {
	t.Helper()
	hash, err := Parse(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func TestVerifyVectors(t *testing.T) {
	t.Parallel()
	h := NewHasher(1, 0)
	for _, v := range vectors {
		hash := parse(t, v.encoded)
		for typed, want := range map[string]bool{
			v.password:                     true,
			norm.NFD.String(v.password):    true, // hashed in NFC
			"y" + v.password:               false,
			v.password[:len(v.password)/2]: false,
			"":                             false,
		} {
			if ok, _, err := h.Verify(t.Context(), hash, typed); ok != want || err != nil {
				t.Errorf("%s with %q: %v, %v", v.encoded, typed, ok, err)
			}
		}
	}
}

func TestVerifySeesEveryBitOfTheKey(t *testing.T) {
	t.Parallel()
	h := NewHasher(1, 0)
	for _, v := range vectors {
		at := len(v.encoded) - 8
		if strings.HasPrefix(v.encoded, "{SSHA}") {
			at = len("{SSHA}") + 8
		}
		other := "A"
		if v.encoded[at] == 'A' {
			other = "B"
		}
		hash := parse(t, v.encoded[:at]+other+v.encoded[at+1:])
		if ok, _, err := h.Verify(t.Context(), hash, v.password); ok || err != nil {
			t.Errorf("%s: %v, %v", hash.Encoded(), ok, err)
		}
	}
}

func TestVerifyPasswordHashedAsTyped(t *testing.T) {
	t.Parallel()
	decomposed := norm.NFD.String(composed)
	h := NewHasher(1, 0)
	for _, encoded := range []string{ // libxcrypt and argon2-cffi with the password in NFD
		"$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$vTQODVblZyogvZZLAHaKWdZ08cYOLZtV88Hq5s5fYGY",
		"$6$Sa1tSa1t$5fCIaCLaCPn9MQ6Z7CvczboSmyxLQlSKf.sz4hPqfm5D1ldWA5kToGwW5O6d4tshA7tA99Cf9c0R.8sH.UMsX.",
		"$2b$04$abcdefghijklmnopqrstuusTACiovRJREjxHopXXTGXUJdahV.Nyi",
	} {
		hash := parse(t, encoded)
		if ok, outdated, err := h.Verify(t.Context(), hash, decomposed); !ok || !outdated || err != nil {
			t.Errorf("%s as typed: %v, %v, %v", encoded, ok, outdated, err)
		}
		if ok, _, err := h.Verify(t.Context(), hash, composed); ok || err != nil {
			t.Errorf("%s in NFC: %v, %v", encoded, ok, err)
		}
	}
}

func TestHashAndVerify(t *testing.T) {
	t.Parallel()
	h := NewHasher(1, 0)
	hash, err := h.Hash(t.Context(), norm.NFD.String(composed))
	if err != nil {
		t.Fatal(err)
	}
	twin, err := h.Hash(t.Context(), composed)
	if err != nil || twin.Encoded() == hash.Encoded() {
		t.Fatalf("the salt is not random: %v", err)
	}
	if prefix := "$argon2id$v=19$m=19456,t=2,p=1$"; !strings.HasPrefix(hash.Encoded(), prefix) {
		t.Errorf("%s does not start with %s", hash.Encoded(), prefix)
	}
	for _, kept := range []Hash{hash, parse(t, hash.Encoded())} {
		for _, typed := range []string{composed, norm.NFD.String(composed)} {
			if ok, outdated, err := h.Verify(t.Context(), kept, typed); !ok || outdated || err != nil {
				t.Errorf("%q: %v, %v, %v", typed, ok, outdated, err)
			}
		}
	}
}

func TestOutdated(t *testing.T) {
	t.Parallel()
	h := NewHasher(1, 0)
	// argon2-cffi with today's parameters, and with one of them changed.
	for encoded, want := range map[string]bool{
		"$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$ESPxPPYQ16EV5D8/eSv7kaU3KI1bOcKLMerXB5MdQNI":    false,
		"$argon2id$v=19$t=2,p=1,m=19456$MDEyMzQ1Njc4OWFiY2RlZg==$ESPxPPYQ16EV5D8/eSv7kaU3KI1bOcKLMerXB5MdQNI=": false,
		"$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc$7XeKeOpktcF51zN6SBESSagVu+KF+1h8pmOAsiMQYOM":               true,
		"$argon2id$v=19$m=19455,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$Q/a6STobWwM8HqKsTxxCmJ5B2qjOGmIvF6OlAlYhBX8":    true,
		"$argon2id$v=19$m=19457,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$3av/XAOenm1IMb2Rzb8zj4eNvV8b1cPjCXr0hkcVbxw":    true,
		"$argon2id$v=19$m=19456,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlZg$XoHRtAjR2Isdmukq0dNyYAZRp0mogrcMfv7jNziKtKM":    true,
		"$argon2id$v=19$m=19456,t=3,p=1$MDEyMzQ1Njc4OWFiY2RlZg$gMgLRZ4kJwmJloG/f59r7OPKoBTz45YrMMjCQjZnwwQ":    true,
		"$argon2id$v=19$m=19456,t=2,p=2$MDEyMzQ1Njc4OWFiY2RlZg$RcNwbuEXuhMyfiPbCewRZxBLBx4pQJt7zU9rfUgHJv4":    true,
		"$argon2i$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$spFvvQM6QkJb6Bl8yw4VCipdSzRDb4+DfrUVyemZsxs":     true,
		"$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$yLj6sVT48ERw1ZXz4wzLKn6nfT4zL1pQQj/JN6Jvuw":     true,
		"$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$x4i2vd28L+d1fFvXsFnXAA0ej5L9CLjnH4FxWcpTAB2a":   true,
		"$2a$04$abcdefghijklmnopqrstuu6kzJuuWkSjsbcFmBfqtrC4NaGBdwjK.":                                         true,
	} {
		if ok, outdated, err := h.Verify(t.Context(), parse(t, encoded), composed); !ok || outdated != want ||
			err != nil {
			t.Errorf("%s: %v, %v, %v", encoded, ok, outdated, err)
		}
	}
}

func TestDerivations(t *testing.T) {
	t.Parallel()
	own, err := NewHasher(1, 0).Hash(t.Context(), ascii)
	if err != nil {
		t.Fatal(err)
	}
	imported := parse(t, "$2a$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e")
	tooLong := strings.Repeat("p", maxBytes+1)
	for _, c := range []struct {
		name  string
		hash  Hash
		typed string
		want  int64
	}{
		{"wrong", own, "wrong", 1},
		{"wrong, imported", imported, "wrong", 2},
		{"wrong, no password", Hash{}, "wrong", 1},
		{"wrong, empty", Hash{}, "", 1},
		{"wrong in NFD", own, norm.NFD.String(composed), 2},
		{"wrong in NFD, imported", imported, norm.NFD.String(composed), 3},
		{"wrong in NFD, no password", Hash{}, norm.NFD.String(composed), 2},
		{"too long", own, tooLong, 0},
		{"too long, imported", imported, tooLong, 0},
		{"too long, no password", Hash{}, tooLong, 0},
		{"a megabyte", imported, strings.Repeat("p", 1<<20), 0},
	} {
		h := NewHasher(1, 0)
		ok, outdated, err := h.Verify(t.Context(), c.hash, c.typed)
		if ok || outdated || h.Derivations() != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%s: %v, %v, %v after %d derivations", c.name, ok, outdated, err, h.Derivations())
		}
		if err != nil && !errors.Is(err, usersfault.ErrPasswordTooLong) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	h := NewHasher(1, 0)
	if _, err := h.Hash(t.Context(), tooLong); !errors.Is(err, usersfault.ErrPasswordTooLong) || h.Derivations() != 0 {
		t.Errorf("%v after %d derivations", err, h.Derivations())
	}
	if _, err := h.Hash(t.Context(), ascii); err != nil || h.Derivations() != 1 {
		t.Errorf("%v after %d derivations", err, h.Derivations())
	}
}

// No password matches the hash that is used for users without a password. Its key is known from the
// source.
func TestNoPasswordMatchesTheZeroHash(t *testing.T) {
	t.Parallel()
	kept := argon2Hash{unfilled().argon2Cost, make([]byte, 16), make([]byte, 32)}
	if kept.matches([]byte(ascii)) {
		t.Error("matches zeros")
	}
	if ok, _, err := NewHasher(1, 0).Verify(t.Context(), Hash{}, ascii); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

// Passwords of more than 512 bytes are refused for the schemes of crypt(3), even if they match. The
// hashes were made with openssl passwd -1, -5, -6 and passlib from 513 times x.
func TestCryptLimit(t *testing.T) {
	t.Parallel()
	h := NewHasher(1, 0)
	for _, s := range limited {
		for length, want := range map[int]bool{512: true, 513: false} {
			ok, _, err := h.Verify(t.Context(), parse(t, s[length]), strings.Repeat("x", length))
			if ok != want || err != nil {
				t.Errorf("%s with %d bytes: %v, %v", s[length], length, ok, err)
			}
		}
	}
}

// busy makes a Hasher work until release is called.
func busy(t *testing.T, h *Hasher) (release func()) {
	leave := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		if err := h.queue.Do(t.Context(), func() { <-leave }); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return func() {
		close(leave)
		group.Wait()
	}
}

func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHasher(1, 0)
		release := busy(t, h)
		if _, err := h.Hash(t.Context(), ascii); !errors.Is(err, fault.ErrOverloaded) {
			t.Errorf("Hash: %v", err)
		}
		if _, _, err := h.Verify(t.Context(), Hash{}, ascii); !errors.Is(err, fault.ErrOverloaded) {
			t.Errorf("Verify: %v", err)
		}
		release()
		if h.Derivations() != 0 {
			t.Errorf("%d derivations", h.Derivations())
		}
		if _, err := h.Hash(t.Context(), ascii); err != nil {
			t.Errorf("idle again: %v", err)
		}
	})
}

// A call that would wait until its end is refused before, so that its caller knows that nothing was done.
func TestOverloadedCallIsRefusedBeforeItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHasher(1, 2)
		release := busy(t, h)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := h.Hash(ctx, ascii); !errors.Is(err, fault.ErrOverloaded) || ctx.Err() != nil {
			t.Errorf("Hash: %v, its context: %v", err, ctx.Err())
		}
		if _, _, err := h.Verify(ctx, Hash{}, ascii); !errors.Is(err, fault.ErrOverloaded) || ctx.Err() != nil {
			t.Errorf("Verify: %v, its context: %v", err, ctx.Err())
		}
		release()
	})
}
