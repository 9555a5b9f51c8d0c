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

// listed are the languages that must be supported.
var listed = strings.Fields("bg cs de en es fr hu id it ja ko mk nl pl pt ro ru sv tr uk zh")

func TestTagIsSupportedByTheNearestLanguage(t *testing.T) {
	t.Parallel()
	c := catalog(t, "en")
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

func TestOnlyExactTagsAreListed(t *testing.T) {
	t.Parallel()
	c := catalog(t, "en")
	for _, tag := range []string{"de", "DE", "dE"} {
		if got, err := c.Listed(tag); got != "de" || err != nil {
			t.Errorf("Listed(%q) = %q, %v", tag, got, err)
		}
	}
	got, err := c.AllListed([]string{"FR", "de", "fr", "De"})
	if err != nil || !slices.Equal(got, []string{"de", "fr"}) {
		t.Errorf("%v, %v", got, err)
	}
	reason := "must be one of " + strings.Join(c.Languages(), ", ")
	for _, tag := range []string{"", "de-CH", "de_CH", "tlh", " de", "de\n", "d", "../de", "\xff", "ſv", "m\u212a"} {
		t.Run(tag, func(t *testing.T) {
			_, err := c.Listed(tag)
			notListed(t, err, fault.Field{Path: "language", Reason: reason})
		})
	}
	_, err = c.AllListed([]string{"de", "xx", "fr", "de-CH"})
	notListed(t, err, fault.Field{Path: "languages[1]", Reason: reason},
		fault.Field{Path: "languages[3]", Reason: reason})
	if !strings.HasSuffix(fault.From(err).Message, `, not "xx", "de-CH"`) {
		t.Error(err)
	}
	if len(textfault.ErrLanguageNotSupported.Fields) != 0 {
		t.Error("the declared fault has fields now")
	}
}

// notListed fails the test unless err is ErrLanguageNotSupported with these fields.
func notListed(t *testing.T, err error, fields ...fault.Field) {
	t.Helper()
	if !errors.Is(err, textfault.ErrLanguageNotSupported) || !slices.Equal(fault.From(err).Fields, fields) {
		t.Errorf("%+v", err)
	}
}

func TestSettingIsALanguageWithTexts(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{"", "xx", "tlh", "und", "e n"} {
		if _, err := NewCatalog(tag); err == nil {
			t.Errorf("%q is accepted as the default language", tag)
		}
	}
	if got := (Languages{}).Default(catalog(t, "de_AT")); got != "de" {
		t.Errorf("de_AT became %q", got)
	}
}

func TestEachKindHasDefaultTexts(t *testing.T) {
	t.Parallel()
	c := catalog(t, "en")
	for _, known := range mail.Kinds() {
		kind := string(known)
		if needed[known] == nil {
			t.Errorf("needed does not list what the texts of %s must name", kind)
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
	c := catalog(f, "en")
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
