package frame

import (
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"herald/shared/caller"
	"herald/shared/mail"
	"herald/shared/mailer"
)

func catalogs(t *testing.T) map[string]texts {
	t.Helper()
	found, err := readTexts()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTexts(t *testing.T) {
	t.Parallel()
	found := catalogs(t)
	if got := strings.Join(slices.Sorted(maps.Keys(found)), " "); got != "bg cs de en es fr hu id it ja ko mk nl pl "+
		"pt ro ru sv tr uk zh" {
		t.Errorf("there are pages in %s", got)
	}
	want := slices.Sorted(maps.Keys(found["en"]))
	seen := map[string]string{}
	for tag, catalog := range found {
		if got := slices.Sorted(maps.Keys(catalog)); !slices.Equal(got, want) {
			t.Errorf("%s has the keys\n%q\nnot\n%q", tag, got, want)
		}
		if d := catalog["direction"]; d != "ltr" && d != "rtl" {
			t.Errorf("%s goes %q", tag, d)
		}
		for key, text := range catalog {
			if text == "" || text != strings.TrimSpace(text) || !utf8.ValidString(text) ||
				strings.ContainsAny(text, "\n\t{}<>") {
				t.Errorf("%s %s: %q", tag, key, text)
			}
			if key == "direction" || key == "code" {
				continue // one word, the same in many languages
			}
			if other := seen[key+text]; other != "" {
				t.Errorf("%s and %s: %s is %q in both", tag, other, key, text)
			}
			seen[key+text] = tag
		}
	}
}

// sources joins the service's own files.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	files := os.DirFS("../..")
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") &&
			!strings.HasSuffix(path, ".html") {
			return err
		}
		text, err := fs.ReadFile(files, path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// ofUsers are ids of the faults with which users refuses a password. Pages show a text for each.
var ofUsers = []string{
	"CODE_WRONG", "PASSWORD_TOO_SHORT", "PASSWORD_TOO_LONG", "PASSWORD_TOO_COMMON", "PASSWORD_NOT_TEXT",
	"PASSWORD_UNCHANGED",
}

// errorOf returns the Go name of the fault with an id: ErrPasswordWrong for PASSWORD_WRONG.
func errorOf(id string) string {
	name := "Err"
	for _, word := range strings.Split(id, "_") {
		name += word[:min(1, len(word))] + strings.ToLower(word[min(1, len(word)):])
	}
	return name
}

// pagesOfMails returns the names of the pages to which the kinds of mails lead.
func pagesOfMails() (names []string) {
	for _, kind := range mail.CodedKinds() {
		pages := []string{"resent", "done"}
		if kind.Page().Password != mail.NeverAsked {
			pages = append(pages, "form")
		}
		if kind.Page().Password != mail.AlwaysAsked {
			pages = append(pages, "confirm")
		}
		for _, page := range pages {
			names = append(names, string(kind)+"."+page)
		}
	}
	return names
}

// rolesElsewhere returns the roles that another organization can give to a person.
func rolesElsewhere() []string {
	var keys []string
	for _, level := range []caller.Level{caller.Organization, caller.Project} {
		for _, role := range caller.Roles(level) {
			keys = append(keys, role.Name)
		}
	}
	return keys
}

// Every role that another organization can give has a name on the page that asks for the person's yes.
func TestEveryRoleHasAName(t *testing.T) {
	t.Parallel()
	for _, role := range rolesElsewhere() {
		if catalogs(t)["en"][role] == "" {
			t.Errorf("%s has no name", role)
		}
	}
}

// Every kind of mail in the list has the texts of its pages.
func TestEveryKindOfMailHasTextsForItsPages(t *testing.T) {
	t.Parallel()
	for _, page := range pagesOfMails() {
		for _, part := range []string{".title", ".text"} {
			if catalogs(t)["en"][page+part] == "" {
				t.Errorf("%s is not there", page+part)
			}
		}
	}
}

func TestEveryTextIsUsed(t *testing.T) {
	t.Parallel()
	program := sources(t)
	ofMails := pagesOfMails()
	for key := range catalogs(t)["en"] {
		page, part, _ := strings.Cut(key, ".")
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			page, part = key[:i], key[i+1:]
		}
		named := strings.Contains(program, `"`+page+`"`) || slices.Contains(ofMails, page)
		ofPage := named && strings.Contains(program, `(print .Name ".`+part+`")`)
		used := strings.Contains(program, `"`+key+`"`) || strings.Contains(program, "."+errorOf(key)+".ID")
		if !ofPage && !used && !slices.Contains(ofUsers, key) && !slices.Contains(rolesElsewhere(), key) {
			t.Errorf("%s is not used", key)
		}
	}
	for _, asked := range regexp.MustCompile(`\.Text "([^"]+)"`).FindAllStringSubmatch(program, -1) {
		if asked[1] != "key" && catalogs(t)["en"][asked[1]] == "" {
			t.Errorf("%s is used and not there", asked[1])
		}
	}
}

// The contrast that WCAG 2.2 requires on level AA: 4.5 for text (1.4.3), 3 for borders (1.4.11).
func TestStyleHasTheContrastOfWCAG(t *testing.T) {
	t.Parallel()
	light, dark, ok := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("no dark colors")
	}
	for name, css := range map[string]string{"light": light, "dark": dark} {
		t.Run(name, func(t *testing.T) {
			colors := map[string]string{}
			for _, c := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
				colors[c[1]] = c[2]
			}
			for _, pair := range []struct {
				front, back string
				least       float64
			}{
				{"ink", "card", 4.5}, {"ink", "page", 4.5}, {"soft", "card", 4.5}, {"bad", "card", 4.5},
				{"accent", "card", 4.5}, {"on-accent", "accent", 4.5}, {"line", "card", 3}, {"accent", "page", 3},
			} {
				front, known := mailer.ParseColor(colors[pair.front])
				back, knownToo := mailer.ParseColor(colors[pair.back])
				if got := front.Contrast(back); !known || !knownToo || got < pair.least {
					t.Errorf("%s on %s has a contrast of %.2f, want %.1f", pair.front, pair.back, got, pair.least)
				}
			}
		})
	}
}
