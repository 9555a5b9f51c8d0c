package domain

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"

	"herald/shared/placeholder"
)

// needed is what the texts of a kind must tell their reader: of each list one.
var needed = map[string][][]string{
	"init": {{"{{.Code}}"}, {"{{.Expiry}}"}, {"{{.OrgName}}"}, {"{{.LoginNames}}", "{{.PreferredLoginName}}"}, {"{{.DisplayName}}"}},
}

// single parts stand on one line of a mail or in a header.
var single = []string{"Title", "PreHeader", "Subject", "Greeting", "ButtonText"}

func catalog(t testing.TB) Catalog {
	t.Helper()
	c, err := NewCatalog("en")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parts lists the texts by field name.
func (t Texts) parts() map[string]string {
	found := map[string]string{}
	for f, v := range reflect.ValueOf(t).Fields() {
		found[f.Name] = v.String()
	}
	return found
}

func TestEveryTextIsThere(t *testing.T) {
	t.Parallel()
	for tag, texts := range catalog(t).texts {
		if parsed, err := language.Parse(tag); err != nil || parsed.String() != tag {
			t.Errorf("%s is not a tag in its usual spelling", tag)
		}
		if kinds := slices.Sorted(maps.Keys(texts)); !slices.Equal(kinds, slices.Sorted(maps.Keys(needed))) {
			t.Errorf("%s has the kinds %v", tag, kinds)
		}
		for kind, text := range texts {
			for field, part := range text.parts() {
				lint(t, tag+" "+kind+" "+field, field, part)
			}
			if n := utf8.RuneCountInString(text.Subject); n >= 60 {
				t.Errorf("%s %s: the subject has %d characters", tag, kind, n)
			}
		}
	}
}

func lint(t *testing.T, name, field, part string) {
	t.Helper()
	if part == "" || part != strings.TrimSpace(part) || !utf8.ValidString(part) {
		t.Errorf("%s: %q is empty or has white space around it", name, part)
	}
	if err := placeholder.Check(part); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' }
	if strings.ContainsFunc(part, control) || slices.Contains(single, field) && strings.Contains(part, "\n") {
		t.Errorf("%s: %q has control characters", name, part)
	}
}

func TestTextsTellWhatTheirReaderNeeds(t *testing.T) {
	t.Parallel()
	for tag, texts := range catalog(t).texts {
		for kind, text := range texts {
			for _, names := range needed[kind] {
				if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text.Greeting+text.Text, name) }) {
					t.Errorf("%s %s names none of %v", tag, kind, names)
				}
			}
			if !strings.Contains(text.Greeting, "{{.DisplayName}}") {
				t.Errorf("%s %s greets nobody: %q", tag, kind, text.Greeting)
			}
		}
	}
}

// A part that is the same in two languages was forgotten by a translator.
func TestNoTwoLanguagesAreAlike(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for tag, texts := range catalog(t).texts {
		for kind, text := range texts {
			for field, part := range text.parts() {
				if other := seen[kind+field+part]; other != "" {
					t.Errorf("%s and %s: %s %s are both %q", tag, other, kind, field, part)
				}
				seen[kind+field+part] = tag
			}
		}
	}
}
