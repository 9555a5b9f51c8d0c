package domain

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	"herald/shared/mail"
)

// listed are the languages that specification 4.5 requires.
var listed = strings.Fields("bg cs de en es fr hu id it ja ko mk nl pl pt ro ru sv tr uk zh")

func TestSupported(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	for _, test := range []struct {
		asked, want string
		err         error
	}{
		{"de", "de", nil},
		{"DE", "de", nil},
		{"de-CH", "de", nil},
		{"de_ch", "de", nil},
		{"De-Latn-cH-1996", "de", nil},
		{"de-u-co-phonebk", "de", nil},
		{"de-XQ", "de", nil},
		{"en-GB-oed", "en", nil},
		{"ja-JP", "ja", nil},
		{"tlh", "", nil},
		{"xx", "", nil},
		{"xx-DE", "", nil},
		{"und", "", nil},
		{"und-DE", "", nil},
		{"x-private", "", nil},
		{"", "", textfault.ErrLanguageInvalid},
		{"d", "", textfault.ErrLanguageInvalid},
		{"german-language", "", textfault.ErrLanguageInvalid},
		{"de-", "", textfault.ErrLanguageInvalid},
		{"de--CH", "", textfault.ErrLanguageInvalid},
		{"-de", "", textfault.ErrLanguageInvalid},
		{"de CH", "", textfault.ErrLanguageInvalid},
		{"de\x00", "", textfault.ErrLanguageInvalid},
		{"../texts/de", "", textfault.ErrLanguageInvalid},
		{"日本語", "", textfault.ErrLanguageInvalid},
		{"\xff\xfe", "", textfault.ErrLanguageInvalid},
		{strings.Repeat("a-", 100), "", textfault.ErrLanguageInvalid},
	} {
		t.Run(test.asked, func(t *testing.T) {
			t.Parallel()
			got, err := c.Supported(test.asked)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("Supported(%q) = %q, %v; want %q, %v", test.asked, got, err, test.want, test.err)
			}
		})
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	for _, tag := range []string{"de", "DE", "dE"} {
		if got, err := c.Listed(tag); got != "de" || err != nil {
			t.Errorf("Listed(%q) = %q, %v", tag, got, err)
		}
	}
	for _, tag := range []string{"", "de-CH", "de_CH", "tlh", " de", "de\n", "d", "../de", "\xff", "ſv", "m\u212a"} {
		_, err := c.Listed(tag)
		f, ok := errors.AsType[*fault.Fault](err)
		if !ok || f.ID != textfault.ErrLanguageNotSupported.ID || len(f.Fields) != 1 ||
			f.Fields[0].Path != "language" ||
			!strings.Contains(f.Fields[0].Reason, "bg, cs, de, ") {
			t.Errorf("Listed(%q): %v", tag, err)
		}
	}
	got, err := c.AllListed([]string{"FR", "de", "fr", "De"})
	if err != nil || !slices.Equal(got, []string{"de", "fr"}) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = c.AllListed([]string{"de", "xx", "fr", "de-CH"})
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || f.ID != textfault.ErrLanguageNotSupported.ID || len(f.Fields) != 2 ||
		f.Fields[0].Path != "languages[1]" ||
		f.Fields[1].Path != "languages[3]" || !strings.HasSuffix(f.Message, `, not "xx", "de-CH"`) {
		t.Errorf("%+v", f)
	}
	if len(textfault.ErrLanguageNotSupported.Fields) != 0 {
		t.Error("the declared fault has fields now")
	}
}

func TestDefaultLanguage(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"", "xx", "tlh", "und", "e n"} {
		if _, err := NewCatalog(tag); err == nil {
			t.Errorf("%q is taken for the default language", tag)
		}
	}
	c, err := NewCatalog("de_AT")
	if err != nil {
		t.Fatal(err)
	}
	if got := (Languages{}).Default(c); got != "de" {
		t.Errorf("de_AT became %q", got)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	for _, known := range mail.Kinds() {
		kind := string(known)
		if needed[known] == nil {
			t.Errorf("needed says nothing of what the texts of %s must tell", kind)
		}
		if _, err := c.Default(kind, "en"); err != nil || CheckKind(kind) != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for _, kind := range []string{"", "Init", "init ", "password", "__proto__"} {
		if _, err := c.Default(kind, "en"); !errors.Is(err, textfault.ErrMessageKindNotFound) ||
			!errors.Is(CheckKind(kind), textfault.ErrMessageKindNotFound) {
			t.Errorf("Default(%q) = %v", kind, err)
		}
	}
}

func FuzzLanguage(f *testing.F) {
	for _, seed := range []string{
		"de", "de_CH", "zh-Hant-TW", "i-klingon", "x-a", "en-u-x-y", "sgn-ch-de", "\xff", "ſv", "IN",
	} {
		f.Add(seed)
	}
	c := catalog(f)
	f.Fuzz(func(t *testing.T, asked string) {
		got, err := c.Supported(asked)
		if got != "" && !slices.Contains(c.Languages(), got) {
			t.Fatalf("Supported(%q) = %q", asked, got)
		}
		if err != nil && !errors.Is(err, textfault.ErrLanguageInvalid) {
			t.Fatalf("Supported(%q): %v", asked, err)
		}
		if tag, err := c.Listed(asked); err == nil && tag != got {
			t.Fatalf("%q is listed as %q and supported as %q", asked, tag, got)
		}
	})
}
