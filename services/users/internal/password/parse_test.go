package password

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"
)

var (
	salt16 = strings.Repeat("A", 22)
	key32  = strings.Repeat("A", 43)
	costly = []string{
		"$pbkdf2-sha512$2000000$" + salt16 + "$" + key32,
		"$2b$14$abcdefghijklmnopqrstuu6kzJuuWkSjsbcFmBfqtrC4NaGBdwjK.",
		"$argon2id$v=19$m=262144,t=10,p=16$" + salt16 + "$" + key32,
		"$scrypt$ln=17,r=16,p=2$" + salt16 + "$" + key32,
		"$6$rounds=1000000$salt$" + strings.Repeat(".", 86),
		"$P$Isaltsalt" + strings.Repeat(".", 22),
	}
)

// base64Of returns n zero bytes in base64.
func base64Of(n int) string { return strings.Repeat("A", (8*n+5)/6) }

func TestParseKeepsTheOriginal(t *testing.T) {
	t.Parallel()
	for _, v := range vectors {
		hash, err := Parse(v.encoded)
		if err != nil || hash.Encoded() != v.encoded || hash.IsZero() {
			t.Errorf("Parse(%q) = %q, %v", v.encoded, hash.Encoded(), err)
		}
	}
	if hash, err := Parse(""); err != nil || !hash.IsZero() || hash.Encoded() != "" {
		t.Errorf("the empty string is %q, %v", hash.Encoded(), err)
	}
}

func TestParseBounds(t *testing.T) {
	t.Parallel()
	tail := "$" + salt16 + "$" + key32
	zeros := strings.Repeat("0", 16<<10-len("$pbkdf2$1"+tail))
	cases := []struct{ accepted, refused, reason string }{
		{"$pbkdf2-sha256$1" + tail, "$pbkdf2-sha256$0" + tail,
			"pbkdf2-sha256: rounds must be a number from 1 to 2000000"},
		{"$pbkdf2$2000000" + tail, "$pbkdf2$2000001" + tail, "pbkdf2-sha1: rounds must be a number from 1 to 2000000"},
		{"$pbkdf2-sha384$1$AA$" + key32, "$pbkdf2-sha384$1$$" + key32,
			"pbkdf2-sha384: salt must have 1 to 1024 bytes, not 0"},
		{"$pbkdf2-sha384$1$" + base64Of(1024) + "$" + key32, "$pbkdf2-sha384$1$" + base64Of(1025) + "$" + key32,
			"pbkdf2-sha384: salt must have 1 to 1024 bytes, not 1025"},
		{"$pbkdf2-sha224$1$AA$" + base64Of(4), "$pbkdf2-sha224$1$AA$" + base64Of(3),
			"pbkdf2-sha224: key must have 4 to 128 bytes, not 3"},
		{"$pbkdf2-sha512$1$AA$" + base64Of(128), "$pbkdf2-sha512$1$AA$" + base64Of(129),
			"pbkdf2-sha512: key must have 4 to 128 bytes, not 129"},
		{"$2a$04$" + strings.Repeat(".", 53), "$2a$03$" + strings.Repeat(".", 53),
			"bcrypt: cost must be a number from 4 to 14"},
		{"$2y$14$" + strings.Repeat(".", 53), "$2y$15$" + strings.Repeat(".", 53),
			"bcrypt: cost must be a number from 4 to 14"},
		{"$argon2id$v=19$m=8,t=1,p=1" + tail, "$argon2id$v=19$m=7,t=1,p=1" + tail,
			"argon2id: m must be a number from 8 to 262144"},
		{"$argon2id$v=19$m=262144,t=1,p=1" + tail, "$argon2id$v=19$m=262145,t=1,p=1" + tail,
			"argon2id: m must be a number from 8 to 262144"},
		{"$argon2i$v=19$t=1,p=1,m=8" + tail, "$argon2i$v=19$t=0,p=1,m=8" + tail,
			"argon2i: t must be a number from 1 to 10"},
		{"$argon2i$v=19$t=10,p=1,m=8" + tail, "$argon2i$v=19$t=11,p=1,m=8" + tail,
			"argon2i: t must be a number from 1 to 10"},
		{"$argon2id$v=19$m=128,t=1,p=1" + tail, "$argon2id$v=19$m=128,t=1,p=0" + tail,
			"argon2id: p must be a number from 1 to 16"},
		{"$argon2id$v=19$m=136,t=1,p=16" + tail, "$argon2id$v=19$m=136,t=1,p=17" + tail,
			"argon2id: p must be a number from 1 to 16"},
		{"$argon2id$v=19$m=128,t=1,p=16" + tail, "$argon2id$v=19$m=127,t=1,p=16" + tail,
			"argon2id: m must be at least 8 times p"},
		{"$scrypt$ln=1,r=8,p=1" + tail, "$scrypt$ln=0,r=8,p=1" + tail, "scrypt: ln must be a number from 1 to 17"},
		{"$scrypt$ln=17,r=8,p=1" + tail, "$scrypt$ln=18,r=8,p=1" + tail, "scrypt: ln must be a number from 1 to 17"},
		{"$scrypt$ln=17,r=16,p=1" + tail, "$scrypt$ln=17,r=17,p=1" + tail,
			"scrypt: ln and r must need at most 256 MiB"},
		{"$scrypt$p=10,ln=2,r=8" + tail, "$scrypt$p=11,ln=2,r=8" + tail, "scrypt: r times p must be at most 80"},
		{"$scrypt$ln=14,r=8,p=5" + tail, "$scrypt$ln=17,r=8,p=5" + tail, // OWASP's, and more than one core can bear
			"scrypt: 2^ln times r times p must be at most 2^22"},
		{"$scrypt$ln=15,r=8,p=10" + tail, "$scrypt$ln=16,r=8,p=10" + tail,
			"scrypt: 2^ln times r times p must be at most 2^22"},
		{"$scrypt$ln=2,r=1,p=80" + tail, "$scrypt$ln=2,r=1,p=81" + tail, "scrypt: p must be a number from 1 to 80"},
		{"$scrypt$ln=2,r=80,p=1" + tail, "$scrypt$ln=2,r=81,p=1" + tail, "scrypt: r must be a number from 1 to 80"},
		{"$scrypt$ln=2,r=1,p=1" + tail, "$scrypt$ln=2,r=0,p=1" + tail, "scrypt: r must be a number from 1 to 80"},
		{"$5$rounds=1000$s$" + strings.Repeat(".", 43), "$5$rounds=999$s$" + strings.Repeat(".", 43),
			"sha256-crypt: rounds must be a number from 1000 to 1000000"},
		{"$6$rounds=1000000$s$" + strings.Repeat(".", 86), "$6$rounds=1000001$s$" + strings.Repeat(".", 86),
			"sha512-crypt: rounds must be a number from 1000 to 1000000"},
		{"$5$0123456789abcdef$" + strings.Repeat(".", 43), "$5$0123456789abcdefg$" + strings.Repeat(".", 43),
			"sha256-crypt: salt must have 1 to 16 characters"},
		{"$1$s$" + strings.Repeat(".", 22), "$1$$" + strings.Repeat(".", 22),
			"md5-crypt: salt must have 1 to 8 characters"},
		{"$1$01234567$" + strings.Repeat(".", 22), "$1$012345678$" + strings.Repeat(".", 22),
			"md5-crypt: salt must have 1 to 8 characters"},
		{"$P$5saltsalt" + strings.Repeat(".", 22), "$P$4saltsalt" + strings.Repeat(".", 22),
			"phpass: rounds must be 5 to I, for 2^7 to 2^20"},
		{"$H$Isaltsalt" + strings.Repeat(".", 22), "$H$Jsaltsalt" + strings.Repeat(".", 22),
			"phpass: rounds must be 5 to I, for 2^7 to 2^20"},
		{"$pbkdf2$" + zeros + "1" + tail, "$pbkdf2$" + zeros + "01" + tail, "pbkdf2-sha1: longer than 16384 bytes"},
		{"{SSHA}" + base64Of(21), "{SSHA}" + base64Of(20), "ssha: key with salt must have 21 to 1044 bytes, not 20"},
		{"{SSHA}" + base64Of(1044), "{SSHA}" + base64Of(1045),
			"ssha: key with salt must have 21 to 1044 bytes, not 1045"},
	}
	for _, c := range cases {
		if _, err := Parse(c.accepted); err != nil {
			t.Errorf("%.60s: %v", c.accepted, err)
		}
		if _, err := Parse(c.refused); err == nil || err.Error() != c.reason {
			t.Errorf("%.60s: %v, want %s", c.refused, err, c.reason)
		}
	}
}

func TestParseRefusesWhatCouldNeverVerify(t *testing.T) {
	t.Parallel()
	tail := "$" + salt16 + "$" + key32
	cases := []struct{ encoded, format string }{
		{"plaintext", "unknown format"},
		{"$argon2d$v=19$m=64,t=1,p=1" + tail, "unknown format"},
		{"$2x$04$" + strings.Repeat(".", 53), "unknown format"},
		{"$pbkdf2-md5$1000" + tail, "unknown format"},
		{"{SHA}" + base64Of(20), "unknown format"},
		{" $1$s$" + strings.Repeat(".", 22), "unknown format"},

		{"$pbkdf2-sha256$1000$" + salt16, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$1000" + tail + "$", "pbkdf2-sha256"},
		{"$pbkdf2-sha256$-1" + tail, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$+1" + tail, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$1e3" + tail, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$9223372036854775808" + tail, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$18446744073709551617" + tail, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$1000$A*$" + key32, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$1000$A$" + key32, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$1000$AA=$" + key32, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$1000$AA===$" + key32, "pbkdf2-sha256"},
		{"$pbkdf2-sha256$1000$" + salt16 + "$" + key32 + "\n", "pbkdf2-sha256"},
		{"$pbkdf2-sha256$1000$\r" + salt16 + "$" + key32, "pbkdf2-sha256"},

		{"$2b$4$" + strings.Repeat(".", 54), "bcrypt"},
		{"$2b$4$" + strings.Repeat(".", 53), "bcrypt"},
		{"$2b$004$" + strings.Repeat(".", 53), "bcrypt"},
		{"$2b$+4$" + strings.Repeat(".", 53), "bcrypt"},
		{"$2b$04$" + strings.Repeat(".", 52), "bcrypt"},
		{"$2b$04$" + strings.Repeat(".", 54), "bcrypt"},
		{"$2b$04$*" + strings.Repeat(".", 52), "bcrypt"},
		{"$2b$04$" + strings.Repeat(".", 52) + "/", "bcrypt"},
		{"$2b$04", "bcrypt"},

		{"$argon2id$m=64,t=1,p=1" + tail, "argon2id"}, // no version means 16
		{"$argon2id$v=16$m=64,t=1,p=1" + tail, "argon2id"},
		{"$argon2id$v=20$m=64,t=1,p=1" + tail, "argon2id"},
		{"$argon2id$v=19$m=64,t=1" + tail, "argon2id"},
		{"$argon2id$v=19$m=64,t=1,p=1,t=2" + tail, "argon2id"},
		{"$argon2id$v=19$m=64,t=1,p=1,keyid=AA" + tail, "argon2id"},
		{"$argon2id$v=19$m=4194304,t=1,p=1" + tail, "argon2id"},
		{"$argon2id$v=19$m,t,p" + tail, "argon2id"},
		{"$scrypt$ln=4,r=8" + tail, "scrypt"},
		{"$scrypt$n=16,r=8,p=1" + tail, "scrypt"},

		{"$5$rounds=5000$" + strings.Repeat(".", 43), "sha256-crypt"},
		{"$5$sält$" + strings.Repeat(".", 43), "sha256-crypt"},
		{"$5$salt$" + strings.Repeat(".", 42), "sha256-crypt"},
		{"$5$salt$" + strings.Repeat(".", 42) + "E", "sha256-crypt"}, // E is 16
		{"$6$salt$" + strings.Repeat(".", 85) + "2", "sha512-crypt"}, // 2 is 4
		{"$6$salt$" + strings.Repeat(".", 84) + "-.", "sha512-crypt"},
		{"$1$salt$" + strings.Repeat(".", 23), "md5-crypt"},
		{"$P$5salt", "phpass"},
		{"$P$5saltsalt" + strings.Repeat(".", 21) + "2", "phpass"},
		{"$P$*saltsalt" + strings.Repeat(".", 22), "phpass"},
		{"$H$", "phpass"},
		{"{SSHA}", "ssha"},
		{"{SSHA}****", "ssha"},
		{"{SSHA}" + base64Of(1<<20), "ssha"},
	}
	for _, c := range cases {
		hash, err := Parse(c.encoded)
		refused, typed := errors.AsType[*FormatError](err)
		if !typed || refused.Format != c.format || refused.Reason == "" || !hash.IsZero() {
			t.Errorf("Parse(%.60q): %v, want a refusal by %s", c.encoded, err, c.format)
		}
	}
}

// Parse derives no key: it refuses too high costs and accepts the highest ones without the second
// or more that a derivation takes.
func TestParseDerivesNothing(t *testing.T) {
	t.Parallel()
	tail := "$" + salt16 + "$" + key32
	refused := []string{
		"$argon2id$v=19$m=4194304,t=1,p=1" + tail,
		"$pbkdf2-sha256$1$" + base64Of(1<<20) + "$" + key32,
		"$6$" + strings.Repeat("s", 1<<20) + "$" + strings.Repeat(".", 86),
		strings.Repeat("$", 1<<24),
	}
	for _, rounds := range []string{"0", "1000000000", "9223372036854775808", "-1"} {
		refused = append(refused, "$pbkdf2-sha256$"+rounds+tail, "$6$rounds="+rounds+"$salt$"+strings.Repeat(".", 86),
			"$2b$"+rounds+"$"+strings.Repeat(".", 53), "$scrypt$ln="+rounds+",r=8,p=1"+tail,
			"$argon2id$v=19$m=64,p=1,t="+rounds+tail)
	}
	start := time.Now()
	for _, encoded := range refused {
		if _, err := Parse(encoded); err == nil {
			t.Errorf("accepted %.60s", encoded)
		}
	}
	for _, encoded := range costly {
		if _, err := Parse(encoded); err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(start); took > time.Second/2 {
		t.Errorf("took %v", took)
	}
}

func TestFormatErrorsRepeatNothing(t *testing.T) {
	t.Parallel()
	const canary = "Canary9"
	for _, v := range vectors {
		parts := strings.FieldsFunc(v.encoded, func(r rune) bool { return strings.ContainsRune("$,=}", r) })
		for _, part := range parts {
			_, err := Parse(strings.Replace(v.encoded, part, canary, 1))
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("%v", err)
			}
		}
	}
}

func TestHashIsNeverPrinted(t *testing.T) {
	t.Parallel()
	const canary = "abcdefghijklmnopqrstuu6kzJuuWkSjsbcFmBfqtrC4NaGBdwjK"
	hash, err := Parse("$2b$14$" + canary + ".")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %+v %s %q %#v %x %d", hash, hash, hash, hash, hash, hash,
		hash); got != "*** *** *** *** *** *** ***" {
		t.Error(got)
	}
	type user struct {
		Hash   Hash
		hidden Hash
	}
	var out strings.Builder
	for _, holder := range []any{
		hash, &hash, user{hash, hash}, &user{hash, hash}, []Hash{hash}, map[string]Hash{"": hash},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			fmt.Fprintf(&out, verb+"\n", holder)
		}
		text, err := json.Marshal(holder)
		if err != nil || !strings.Contains(string(text), `"***"`) {
			t.Errorf("JSON of %s: %s, %v", reflect.TypeOf(holder), text, err)
		}
		out.Write(text)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("", "holder", holder)
		slog.New(slog.NewTextHandler(&out, nil)).Info("", "holder", holder)
	}
	for _, secret := range []string{canary, fmt.Sprintf("%x", canary), canary[:22], "$2b$"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is printed in\n%s", secret, out.String())
		}
	}
}
