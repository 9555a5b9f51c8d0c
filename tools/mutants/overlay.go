package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// anchor is a place in a file by its text. around is what takes its place; the text itself is %s.
type anchor struct{ file, text, around string }

// anchors are where SQL is sent, where the middleware asks for what a contract says, and where tests
// of the whole system keep the binary.
var anchors = []anchor{
	{"shared/postgres/args.go", "if len(unnamed) > 0 {", "sql = mutant.SQL(sql); %s"},
	{"shared/search/search.go", "for _, a := range args {\n\t\ts.args", "sql = mutant.SQL(sql); %s"},
	{"shared/rpc/method.go", "c.Can(a.Permission, projectID)",
		`mutant.Dropped("permission", string(m.FullName())) || %s`},
	{"shared/rpc/method.go", "if !self {", `if !self && !mutant.Dropped("acts_on", string(m.FullName())) {`},
	{"shared/rpc/method.go", "!m.Access.FreshLogin || !self",
		`mutant.Dropped("fresh_login", string(m.FullName())) || %s`},
	{"shared/rpc/method.go", "m.Access.NotForApps && self",
		`!mutant.Dropped("not_for_apps", string(m.FullName())) && %s`},
	{"deploy/herald/test/whole/files.go", `".build", "test", "herald"`, `".build", "mutants", "herald"`},
}

// overlay is a set of changed files for the go command's flag of that name. Nothing in the repository
// changes.
type overlay struct {
	root, dir string
	Replace   map[string]string
}

// write puts a changed file into the overlay.
func (o *overlay) write(file, text string) error {
	changed := filepath.Join(o.dir, "source", file)
	o.Replace[filepath.Join(o.root, file)] = changed
	if old, err := os.ReadFile(changed); err == nil && string(old) == text {
		return nil // a newer time would make the go command compile it again
	}
	if err := os.MkdirAll(filepath.Dir(changed), 0o755); err != nil {
		return err
	}
	return os.WriteFile(changed, []byte(text), 0o644)
}

// overlaid writes the overlay for all mutants and returns the path of its list.
func overlaid(root, dir string, f *finder) (string, error) {
	o := &overlay{root: root, dir: dir, Replace: map[string]string{}}
	texts := map[string]string{}
	read := func(file string) error {
		if _, ok := texts[file]; ok {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		texts[file] = string(text)
		return err
	}
	for file, edits := range f.edits {
		if err := read(file); err != nil {
			return "", err
		}
		texts[file] = edited(texts[file], edits)
	}
	for _, a := range anchors {
		if err := read(a.file); err != nil {
			return "", err
		}
		if strings.Count(texts[a.file], a.text) != 1 {
			return "", fmt.Errorf("%s has not exactly one %q: correct anchors in overlay.go", a.file, a.text)
		}
		around := a.around
		if strings.Contains(around, "%s") {
			around = fmt.Sprintf(around, a.text)
		}
		texts[a.file] = strings.Replace(texts[a.file], a.text, around, 1)
		if strings.Contains(around, "mutant.") && !strings.Contains(texts[a.file], `"herald/shared/mutant"`) {
			name := "package " + filepath.Base(filepath.Dir(a.file))
			texts[a.file] = strings.Replace(texts[a.file], name+"\n", name+"; import \"herald/shared/mutant\"\n", 1)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "tools/mutants/mutant/mutant.go"))
	if err != nil {
		return "", err
	}
	texts["shared/mutant/mutant.go"], texts["shared/mutant/numbers.go"] = string(text), numbers(f.mutants)
	for file, text := range texts {
		if err := o.write(file, text); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o644)
}

// numbers returns the file that says the numbers of the checks of contracts.
func numbers(all []Mutant) string {
	var text strings.Builder
	text.WriteString("package mutant\n\nvar numbers = map[string]int{\n")
	for _, m := range all {
		if m.Method != "" {
			fmt.Fprintf(&text, "\t%q: %d,\n", m.ID, m.N)
		}
	}
	return text.String() + "}\n"
}

// edited returns a text with insertions.
func edited(text string, edits []edit) string {
	var closing, opening []edit
	for _, e := range edits {
		if e.closes {
			closing = append(closing, e)
		} else {
			opening = append(opening, e)
		}
	}
	slices.Reverse(closing)
	all := append(closing, opening...)
	slices.SortStableFunc(all, func(a, b edit) int { return a.at - b.at })
	var out strings.Builder
	done := 0
	for _, e := range all {
		out.WriteString(text[done:e.at] + e.text)
		done = e.at
	}
	return out.String() + text[done:]
}
