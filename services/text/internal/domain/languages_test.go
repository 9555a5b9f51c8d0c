package domain

import (
	"errors"
	"slices"
	"testing"

	"herald/shared/gen/fault/textfault"
)

func TestLanguagesFor(t *testing.T) {
	t.Parallel()
	c, err := NewCatalog("fr")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		l         Languages
		preferred string
		want      string
	}{
		{"all allowed", Languages{}, "ja", "ja"},
		{"more general", Languages{}, "de_ch", "de"},
		{"not supported", Languages{}, "tlh", "fr"},
		{"no tag", Languages{}, "not a tag", "fr"},
		{"none", Languages{}, "", "fr"},
		{"default chosen", Languages{DefaultLanguage: "it"}, "", "it"},
		{"allowed", Languages{DefaultLanguage: "it", AllowedLanguages: []string{"de", "it"}}, "de-CH", "de"},
		{"not allowed", Languages{DefaultLanguage: "it", AllowedLanguages: []string{"de", "it"}}, "en", "it"},
		{"chosen by a version with more texts", Languages{DefaultLanguage: "tlh", AllowedLanguages: []string{"tlh"}},
			"tlh-x-a", "fr"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.l.For(c, test.preferred); got != test.want {
				t.Errorf("For(%q) = %q, want %q", test.preferred, got, test.want)
			}
		})
	}
}

func TestSetLanguages(t *testing.T) {
	t.Parallel()
	c, err := NewCatalog("fr")
	if err != nil {
		t.Fatal(err)
	}
	var l Languages
	if changed, err := l.SetDefault(c, "fr"); changed || err != nil {
		t.Errorf("the setting's language again: %v, %v", changed, err)
	}
	if changed, err := l.SetAllowed(c, c.Languages()); changed || err != nil || len(l.AllowedLanguages) != 0 {
		t.Errorf("all languages again: %v, %v, %v", changed, err, l.AllowedLanguages)
	}
	if changed, err := l.SetAllowed(c, []string{"de", "en"}); changed ||
		!errors.Is(err, textfault.ErrDefaultLanguageNotAllowed) {
		t.Errorf("without the default: %v, %v", changed, err)
	}
	l = Languages{}
	if changed, err := l.SetAllowed(c, []string{"de", "fr"}); !changed || err != nil || l.DefaultLanguage != "fr" {
		t.Errorf("%v, %v, %+v", changed, err, l)
	}
	other, err := NewCatalog("en")
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Default(other); got != "fr" {
		t.Errorf("another setting makes %q the default, which is not allowed", got)
	}
	if changed, err := l.SetDefault(c, "en"); changed || !errors.Is(err, textfault.ErrLanguageNotAllowed) ||
		l.DefaultLanguage != "fr" {
		t.Errorf("a language that is not allowed: %v, %v, %+v", changed, err, l)
	}
	if changed, err := l.SetDefault(c, "de"); !changed || err != nil || l.Default(c) != "de" {
		t.Errorf("%v, %v, %+v", changed, err, l)
	}
	if changed, err := l.SetAllowed(c, nil); !changed || err != nil || !slices.Equal(l.Allowed(c), c.Languages()) ||
		l.Default(c) != "de" {
		t.Errorf("%v, %v, %+v", changed, err, l)
	}
}
