package domain

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestLanguages(t *testing.T) {
	t.Parallel()
	got := catalog(t).Languages()
	if !slices.IsSorted(got) {
		t.Errorf("%v is not sorted", got)
	}
	for _, tag := range []string{"de", "en", "fr", "ja"} {
		if !slices.Contains(got, tag) {
			t.Errorf("no %s in %v", tag, got)
		}
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	c, err := NewCatalog("fr")
	if err != nil {
		t.Fatal(err)
	}
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
		{"ko", "fr", nil},
		{"xx", "fr", nil},
		{"xx-DE", "fr", nil},
		{"und", "fr", nil},
		{"und-DE", "fr", nil},
		{"x-private", "fr", nil},
		{"", "fr", ErrLanguage},
		{"d", "fr", ErrLanguage},
		{"german-language", "fr", ErrLanguage},
		{"de-", "fr", ErrLanguage},
		{"de--CH", "fr", ErrLanguage},
		{"-de", "fr", ErrLanguage},
		{"de CH", "fr", ErrLanguage},
		{"de\x00", "fr", ErrLanguage},
		{"../texts/de", "fr", ErrLanguage},
		{"日本語", "fr", ErrLanguage},
		{"\xff\xfe", "fr", ErrLanguage},
		{strings.Repeat("a-", 100), "fr", ErrLanguage},
	} {
		t.Run(test.asked, func(t *testing.T) {
			t.Parallel()
			got, err := c.Language(test.asked)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("Language(%q) = %q, %v; want %q, %v", test.asked, got, err, test.want, test.err)
			}
		})
	}
}

func TestDefaultLanguage(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"", "xx", "ko", "und", "e n"} {
		if _, err := NewCatalog(tag); err == nil {
			t.Errorf("%q is taken for the default language", tag)
		}
	}
	c, err := NewCatalog("de_AT")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := c.Language("xx"); got != "de" {
		t.Errorf("de_AT became %q", got)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	c := catalog(t)
	if _, err := c.Default("init", "en"); err != nil {
		t.Error(err)
	}
	for _, kind := range []string{"", "Init", "init ", "password", "__proto__"} {
		if _, err := c.Default(kind, "en"); !errors.Is(err, ErrKind) {
			t.Errorf("Default(%q) = %v", kind, err)
		}
	}
}

func FuzzLanguage(f *testing.F) {
	for _, seed := range []string{"de", "de_CH", "zh-Hant-TW", "i-klingon", "x-a", "en-u-x-y", "sgn-ch-de", "\xff"} {
		f.Add(seed)
	}
	c := catalog(f)
	f.Fuzz(func(t *testing.T, asked string) {
		got, err := c.Language(asked)
		if !slices.Contains(c.Languages(), got) {
			t.Fatalf("Language(%q) = %q", asked, got)
		}
		if err != nil && !errors.Is(err, ErrLanguage) {
			t.Fatalf("Language(%q): %v", asked, err)
		}
	})
}
