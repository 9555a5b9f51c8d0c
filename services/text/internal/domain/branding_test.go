package domain

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"herald/shared/gen/fault/textfault"
)

func TestChangeOfABrandingNamesWhatChanged(t *testing.T) {
	t.Parallel()
	logo := Logo{Image: []byte("one"), MediaType: "image/png"}
	for _, c := range []struct {
		name   string
		was    Branding
		change func(*Branding) []string
		want   []string
		color  string
		hash   string
	}{
		{"a first color", Branding{}, color("#00AAff"), []string{"primaryColor"}, "#00aaff", ""},
		{"the same in capitals", Branding{PrimaryColor: "#00aaff"}, color("#00AAFF"), nil, "#00aaff", ""},
		{"no color beside a logo", Branding{PrimaryColor: "#00aaff", LogoHash: "x"}, color(""),
			[]string{"primaryColor"}, "", "x"},
		{"no color for none", Branding{}, color(""), nil, "", ""},
		{"a first logo", Branding{PrimaryColor: "#00aaff"}, picture(logo), []string{"logo"}, "#00aaff", logo.Hash()},
		{"the same logo", Branding{LogoHash: logo.Hash()}, picture(logo), nil, "", logo.Hash()},
		{"another logo", Branding{LogoHash: "x"}, picture(logo), []string{"logo"}, "", logo.Hash()},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.was
			got := c.change(&b)
			if !slices.Equal(got, c.want) || b.PrimaryColor != c.color || b.LogoHash != c.hash {
				t.Errorf("%v, %+v", got, b)
			}
			if stored := slices.Contains(got, "logo"); stored != (b.Logo != nil) {
				t.Errorf("the image to store is %v", b.Logo)
			}
			if b.IsDefault() != (c.color == "" && c.hash == "") {
				t.Errorf("%+v is default: %t", b, b.IsDefault())
			}
		})
	}
}

func color(c string) func(*Branding) []string {
	return func(b *Branding) []string { return b.Set(c, b.SupportEmail) }
}

func picture(l Logo) func(*Branding) []string {
	return func(b *Branding) []string { return b.SetLogo(l) }
}

// An address for help is one that mails can have, or none.
func TestSupportEmailIsAnAddress(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"", "help@example.com"} {
		if err := CheckSupportEmail(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, wrong := range []string{"help", "a@b.example, c@d.example", "Help <help@example.com>", "a@b\n.example"} {
		if err := CheckSupportEmail(wrong); !errors.Is(err, textfault.ErrSupportEmailInvalid) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	var b Branding
	if got := b.Set("#00AAFF", "help@example.com"); !slices.Equal(got, []string{"primaryColor", "supportEmail"}) {
		t.Errorf("changed are %v", got)
	}
	if got := b.Set("#00aaff", "help@example.com"); got != nil {
		t.Errorf("changed are %v", got)
	}
}

func TestBrandingIsResetOnce(t *testing.T) {
	t.Parallel()
	for _, b := range []Branding{{PrimaryColor: "#00aaff"}, {LogoHash: "x"}, {SupportEmail: "help@example.com"}} {
		if err := b.Reset(); err != nil || !b.IsDefault() {
			t.Errorf("%+v, %v", b, err)
		}
	}
	if err := new(Branding).Reset(); !errors.Is(err, textfault.ErrBrandingNotFound) {
		t.Errorf("nothing is reset: %v", err)
	}
}

// What is accepted as an address for help is one address, on one line, without a name.
func FuzzSupportEmail(f *testing.F) {
	for _, address := range []string{"help@example.com", "a@b, c@d", "Help <help@example.com>", "a@b\n.example",
		`"a b"@example.com`, "help@[192.0.2.1]", "b\u00fccher@example.com", "a@b (c)"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if address == "" || CheckSupportEmail(address) != nil {
			return
		}
		local, domain, ok := strings.Cut(address, "@")
		if !ok || local == "" || domain == "" || strings.ContainsAny(domain, "@<>,;") ||
			strings.ContainsFunc(address, unicode.IsControl) || strings.ContainsFunc(address, unicode.IsSpace) {
			t.Errorf("%q was accepted", address)
		}
	})
}
