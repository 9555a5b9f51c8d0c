package domain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/secret"
)

func TestSlug(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Herald": "herald", " Déjà  Vu, AG! ": "deja-vu-ag", "日本": "", "--": "", "Straße 7": "stra-e-7", "ﬁne": "fine",
		strings.Repeat("a", 70): strings.Repeat("a", 63),
		// A label does not end with a hyphen (RFC 1035, 2.3.1).
		strings.Repeat("a", 62) + " b": strings.Repeat("a", 62),
	} {
		t.Run(name, func(t *testing.T) {
			if got := domain.Slug(name); got != want {
				t.Errorf("Slug(%q) = %q, want %q", name, got, want)
			}
		})
	}
}

func TestCheckEmail(t *testing.T) {
	t.Parallel()
	for s, ok := range map[string]bool{
		"mini@example.com": true, "mïni@exämple.com": true,
		"": false, "Mini <mini@example.com>": false, "mini@exa_mple.com": false,
	} {
		t.Run(s, func(t *testing.T) {
			err := domain.CheckEmail("email.email", s)
			if (err == nil) != ok {
				t.Errorf("CheckEmail(%q) = %v", s, err)
			}
			if err != nil && (!errors.Is(err, usersfault.ErrEmailInvalid) ||
				!strings.Contains(err.Error(), "email.email: ")) {
				t.Errorf("CheckEmail(%q) = %v, which does not name the field", s, err)
			}
		})
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"": "", "de": "de", "DE": "de", "de_CH": "de-CH", "zh-hant-TW": "zh-Hant-TW",
		"xx": "xx", "tlh": "tlh"} {
		t.Run(s, func(t *testing.T) {
			if got, err := domain.Language("profile.preferredLanguage", s); got != want || err != nil {
				t.Errorf("Language(%q) = %q, %v; want %q", s, got, err, want)
			}
		})
	}
	for _, s := range []string{"de;", "d", "german language", "-", "de-", "1", "\x00"} {
		if got, err := domain.Language("profile.preferredLanguage", s); !errors.Is(err,
			usersfault.ErrPreferredLanguageInvalid) {
			t.Errorf("Language(%q) = %q, %v", s, got, err)
		}
	}
}

func FuzzLanguage(f *testing.F) {
	f.Add("de_CH")
	f.Add("x-a-b")
	f.Fuzz(func(t *testing.T, s string) {
		tag, err := domain.Language("profile.preferredLanguage", s)
		if err != nil {
			return
		}
		if again, err := domain.Language("profile.preferredLanguage", tag); err != nil || again != tag {
			t.Errorf("%q was kept as %q, which reads as %q, %v", s, tag, again, err)
		}
	})
}

func lasting(t *testing.T) domain.Lasting {
	k, err := domain.NewLasting(secret.NewText(secret.NewKeyText()))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCoder(t *testing.T) {
	t.Parallel()
	c, nonce := domain.NewCoder(lasting(t)), domain.Nonce()
	code := c.Code("init", "u1", nonce)
	if len(code) != 8 || strings.ContainsAny(code, "IO01L") || strings.ToUpper(code) != code {
		t.Errorf("code %q", code)
	}
	if code != c.Code("init", "u1", nonce) {
		t.Error("a code changes")
	}
	mac := c.MAC("init", "u1", code)
	for typed, right := range map[string]bool{code: true, strings.ToLower(code): true, " " + code[:4] + " - " +
		code[4:]: true, code + "A": false, "": false, code[1:]: false} {
		if c.Right("init", "u1", typed, mac) != right {
			t.Errorf("Right(%q) = %t", typed, !right)
		}
	}
	if c.Right("init", "u2", code, mac) || c.Right("passwordreset", "u1", code, mac) ||
		c.Right("init", "u1", code, nil) {
		t.Error("a code is right for another user, kind or without a MAC")
	}
	seen := map[string]bool{}
	for range 1000 {
		seen[c.Code("init", "u1", domain.Nonce())] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different codes of 1,000", len(seen))
	}
}

func TestOTPSecret(t *testing.T) {
	t.Parallel()
	const kept = "JBSWY3DPEHPK3PXP"
	for _, s := range []string{kept, strings.ToLower(kept), "JBSW Y3DP-EHPK 3PXP", kept + "===="} {
		if got, err := domain.OTPSecret(s); got != kept || err != nil {
			t.Errorf("OTPSecret(%q) = %q, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "JBSWY3DP", "0189" + kept, strings.Repeat("A", 105), kept + "é"} {
		if _, err := domain.OTPSecret(s); !errors.Is(err, usersfault.ErrOTPCodeInvalid) {
			t.Errorf("OTPSecret(%q): %v", s, err)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	k := lasting(t)
	fields := map[string]string{"userName": "mini", "credential": "x", "phone.phone": ""}
	d := domain.NewDigest(k, "u1", fields)
	if len(d) != 2 || d["userName"] == domain.NewDigest(k, "u2", fields)["userName"] {
		t.Errorf("digest %v", d)
	}
	if err := d.Compare(domain.NewDigest(k, "u1", fields)); err != nil {
		t.Error(err)
	}
	err := d.Compare(domain.NewDigest(k, "u1", map[string]string{"userName": "maxi", "phone.phone": "+41"}))
	if !errors.Is(err, usersfault.ErrImportDiffers) ||
		!strings.HasSuffix(err.Error(), "another credential, phone.phone, userName") {
		t.Errorf("%v", err)
	}
}

// No way to print a user shows the password hash.
func TestUserHidesItsHash(t *testing.T) {
	t.Parallel()
	u := domain.User{PasswordHash: "canary"}
	p := domain.Password{Hash: "canary"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(verb, u) + fmt.Sprintf(verb, &u) + fmt.Sprintf(verb, u.PasswordHash) +
			fmt.Sprintf(verb, p) + fmt.Sprintf(verb, &p); strings.Contains(s, "canary") {
			t.Errorf("%s prints the hash", verb)
		}
	}
}
