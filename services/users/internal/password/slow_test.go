package password

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// The parameters that other systems use most, and the costliest that Parse accepts.
func TestCostlyHashesAreSlow(t *testing.T) {
	t.Parallel()
	tail, long := "$"+salt16+"$"+key32, strings.Repeat("x", 512)
	for encoded, want := range map[string]bool{
		"": false, "$argon2id$v=19$m=19456,t=2,p=1" + tail: false, "$argon2id$v=19$m=47104,t=1,p=1" + tail: false,
		"$argon2id$v=19$m=262144,t=1,p=1" + tail: true, "$pbkdf2-sha256$29000" + tail: false,
		"$2b$10$" + strings.Repeat(".", 53): false, "$2b$12$" + strings.Repeat(".", 53): true,
		"$scrypt$ln=14,r=8,p=1" + tail: false, "$scrypt$ln=14,r=8,p=5" + tail: true,
		"$5$s$" + strings.Repeat(".", 43): false, "$6$s$" + strings.Repeat(".", 86): false,
		"$1$s$" + strings.Repeat(".", 22): false, "$P$Bsaltsalt" + strings.Repeat(".", 22): false,
		"{SSHA}" + base64Of(24): false,
	} {
		t.Run(encoded, func(t *testing.T) {
			if parse(t, encoded).Slow(long) != want {
				t.Errorf("%s is slow: %t", encoded, !want)
			}
		})
	}
	for _, encoded := range costly {
		if !parse(t, encoded).Slow("") && !parse(t, encoded).Slow(long) {
			t.Errorf("%s is not slow", encoded)
		}
	}
	sha512 := parse(t, "$6$rounds=100000$s$"+strings.Repeat(".", 86))
	if sha512.Slow("short") || !sha512.Slow(long) || !sha512.Slow(strings.Repeat("x", 4096)) {
		t.Error("the length of the password does not count")
	}
	if !parse(t, "$pbkdf2-sha1$200000$AA$"+base64Of(128)).Slow("") {
		t.Error("the length of the key does not count")
	}
}

// A hash that is estimated to be nearly slow takes no more than a few times as long as that.
func TestEstimatesOfTime(t *testing.T) { // not parallel: it measures times
	tail := "$" + salt16 + "$"
	own := fastest(unfilled(), "correct horse", 0)
	for _, encoded := range []string{
		"$argon2id$v=19$m=150000,t=1,p=1" + tail + key32, "$argon2i$v=19$m=15000,t=10,p=16" + tail + key32,
		"$pbkdf2-sha1$190000" + tail + key32, "$pbkdf2-sha224$180000" + tail + key32,
		"$pbkdf2-sha256$50000" + tail + base64Of(128), "$pbkdf2-sha384$120000" + tail + key32,
		"$pbkdf2-sha512$60000" + tail + base64Of(128), "$2b$10$" + strings.Repeat(".", 53),
		"$scrypt$ln=14,r=8,p=1" + tail + key32, "$scrypt$ln=11,r=1,p=80" + tail + key32,
		"$5$rounds=25000$s$" + strings.Repeat(".", 43), "$6$rounds=25000$s$" + strings.Repeat(".", 86),
		"$P$Esaltsalt" + strings.Repeat(".", 22),
	} {
		hash, longest := parse(t, encoded), strings.Repeat("x", cryptLimit)
		if hash.Slow(longest) {
			t.Errorf("%s is slow", encoded)
		}
		_, kept := hash.open()
		took := fastest(kept, longest, 4*slow*own)
		t.Logf("%.40s takes %v, estimated as %v", encoded, took, kept.takes(cryptLimit))
		if took > 4*slow*own {
			t.Errorf("%.40s takes %v, a hash of today %v", encoded, took, own)
		}
	}
}

// fastest returns the shortest of some times of processors that a check takes, or the first that is not longer than
// enough. Other processes do not count.
func fastest(s scheme, password string, enough time.Duration) time.Duration {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	shortest := time.Hour
	for n := 0; n < 5 && shortest > enough; n++ {
		before := used()
		s.matches([]byte(password))
		shortest = min(shortest, used()-before)
	}
	return shortest
}

// A hash that is not slow waits for no slow one, and these work on half of the cores.
func TestSlowHashesHavePlacesOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := NewHasher(4, 0)
	for range 2 {
		turn, err := h.slow.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer turn.End()
	}
	if _, _, err := h.Verify(t.Context(), parse(t, costly[0]), ascii); err == nil || h.Derivations() != 0 {
		t.Errorf("a third slow hash: %v", err)
	}
	for _, hash := range []Hash{{}, parse(t, "{SSHA}"+base64Of(24))} {
		if _, _, err := h.Verify(t.Context(), hash, ascii); err != nil {
			t.Error(err)
		}
	}
	if _, err := h.Hash(t.Context(), ascii); err != nil {
		t.Error(err)
	}
}
