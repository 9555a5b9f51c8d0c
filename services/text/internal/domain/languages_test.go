package domain

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"herald/shared/gen/fault/textfault"
)

func TestReaderGetsTheNearestAllowedLanguage(t *testing.T) {
	t.Parallel()
	c := catalog(t, "fr")
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

func TestLanguagesAreSet(t *testing.T) {
	t.Parallel()
	c := catalog(t, "fr")
	standard := func(language string) func(*Languages) (bool, error) {
		return func(l *Languages) (bool, error) { return l.SetDefault(c, language) }
	}
	allowed := func(languages ...string) func(*Languages) (bool, error) {
		return func(l *Languages) (bool, error) { return l.SetAllowed(c, languages) }
	}
	two := Languages{DefaultLanguage: "fr", AllowedLanguages: []string{"de", "fr"}}
	for name, test := range map[string]struct {
		was     Languages
		set     func(*Languages) (bool, error)
		changed bool
		err     error
		want    Languages
	}{
		"the setting's language again": {Languages{}, standard("fr"), false, nil, Languages{DefaultLanguage: "fr"}},
		"all languages again": {Languages{}, allowed(c.Languages()...), false, nil,
			Languages{DefaultLanguage: "fr"}},
		"without the default": {Languages{}, allowed("de", "en"), false, textfault.ErrDefaultLanguageNotAllowed,
			Languages{}},
		"some languages":                {Languages{}, allowed("de", "fr"), true, nil, two},
		"a default that is not allowed": {two, standard("en"), false, textfault.ErrLanguageNotAllowed, two},
		"an allowed default": {two, standard("de"), true, nil,
			Languages{DefaultLanguage: "de", AllowedLanguages: []string{"de", "fr"}}},
		"all languages": {two, allowed(), true, nil, Languages{DefaultLanguage: "fr"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.was
			if changed, err := test.set(&got); changed != test.changed || !errors.Is(err, test.err) {
				t.Errorf("changed: %t, %v", changed, err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAllLanguagesAreAllowedUntilSomeAreChosen(t *testing.T) {
	t.Parallel()
	c := catalog(t, "fr")
	if got := (Languages{}).Allowed(c); !slices.Equal(got, c.Languages()) {
		t.Errorf("%v", got)
	}
}

func TestAnotherSettingDoesNotChangeAChosenDefault(t *testing.T) {
	t.Parallel()
	var l Languages
	if _, err := l.SetAllowed(catalog(t, "fr"), []string{"de", "fr"}); err != nil {
		t.Fatal(err)
	}
	if got := l.Default(catalog(t, "en")); got != "fr" {
		t.Errorf("%q is the default and not allowed", got)
	}
}
