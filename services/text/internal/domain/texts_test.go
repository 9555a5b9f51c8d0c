package domain

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/language"
)

// `make check` runs the tests whose names begin with TestTexts. They check the default texts only.

// needed lists the placeholders that the texts of a kind must have: one of each list.
var needed = map[string][][]string{
	"init":          always,
	"verifyemail":   append([][]string{{"{{.LastEmail}}"}}, always...),
	"passwordreset": always,
}

var always = [][]string{
	{"{{.Code}}"}, {"{{.Expiry}}"}, {"{{.OrgName}}"}, {"{{.LoginNames}}", "{{.PreferredLoginName}}"},
	{"{{.DisplayName}}"},
}

func catalog(t testing.TB) Catalog {
	t.Helper()
	c, err := NewCatalog("en")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTextsAreThere(t *testing.T) {
	t.Parallel()
	for _, tag := range listed {
		if !slices.Contains(catalog(t).Languages(), tag) {
			t.Errorf("there are no texts in %s", tag)
		}
	}
	for tag, texts := range catalog(t).texts {
		if parsed, err := language.Parse(tag); err != nil || parsed.String() != tag {
			t.Errorf("%s is not a tag in its usual spelling", tag)
		}
		for kind, text := range texts {
			for _, p := range text.parts() {
				lint(t, tag+" "+kind+" "+p.name, *p.text)
			}
			if _, err := text.Accept(); err != nil {
				t.Errorf("%s %s: %v", tag, kind, err)
			}
			if n := utf8.RuneCountInString(text.Subject); n >= 60 {
				t.Errorf("%s %s: the subject has %d characters", tag, kind, n)
			}
		}
	}
}

func lint(t *testing.T, name, part string) {
	t.Helper()
	if part == "" || part != strings.TrimSpace(part) || strings.ContainsAny(part, "\t\r") {
		t.Errorf("%s: %q is empty, or has tabs or white space around it", name, part)
	}
}

func TestTextsTellWhatTheirReaderNeeds(t *testing.T) {
	t.Parallel()
	for tag, texts := range catalog(t).texts {
		for kind, text := range texts {
			for _, names := range needed[kind] {
				if !slices.ContainsFunc(names, func(name string) bool {
					return strings.Contains(text.Greeting+text.Text, name)
				}) {
					t.Errorf("%s %s names none of %v", tag, kind, names)
				}
			}
			if !strings.Contains(text.Greeting, "{{.DisplayName}}") {
				t.Errorf("%s %s greets nobody: %q", tag, kind, text.Greeting)
			}
		}
	}
}

// Two languages have no part in common: such a part was not translated.
func TestTextsOfNoTwoLanguagesAreAlike(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for tag, texts := range catalog(t).texts {
		for kind, text := range texts {
			for _, p := range text.parts() {
				if other := seen[kind+p.name+*p.text]; other != "" {
					t.Errorf("%s and %s: %s %s are both %q", tag, other, kind, p.name, *p.text)
				}
				seen[kind+p.name+*p.text] = tag
			}
		}
	}
}
