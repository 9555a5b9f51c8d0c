package structure

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var (
	// block is one piece of source that CONTRIBUTING.md shows, with its language.
	block = regexp.MustCompile("(?s)```(go|proto)\n(.*?)```")
	// inList is the indentation of a block in a list.
	inList = regexp.MustCompile(`(?m)^  `)
	// testName is the name of a test in a document.
	testName = regexp.MustCompile("`(Test[A-Za-z]+)`")
	// quotedPath is a path or the end of one, such as foreign_test.go. Paths of the API begin with a slash.
	quotedPath = regexp.MustCompile("`(\\w[\\w.-]*(?:/[\\w.-]+)+|\\w+\\.(?:go|md|proto|sql|work|yml))`")
	// link is a link to another file, or to a heading.
	link        = regexp.MustCompile(`\]\(((?:[\w./-]+)?(?:#[\w-]+)?)\)`)
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^\w\- ]`)
	// placed is a name with the file or folder where it is.
	placed = regexp.MustCompile("`(\\w+)`\\s+(?:in|of)\\s+" + quotedPath.String())
)

// paths finds paths in CONTRIBUTING.md that do not exist, and names that are not where it says.
func paths(tree fs.FS) (wrong []string, err error) {
	text, err := fs.ReadFile(tree, "CONTRIBUTING.md")
	if err != nil {
		return nil, err
	}
	all, err := everyPath(tree)
	if err != nil {
		return nil, err
	}
	quoted := quotedPath.FindAllStringSubmatch(string(text), -1)
	if len(quoted) == 0 {
		return nil, fmt.Errorf("CONTRIBUTING.md names no path")
	}
	for _, q := range quoted {
		if len(ending(all, q[1])) == 0 {
			wrong = append(wrong, fmt.Sprintf("CONTRIBUTING.md names %s, which does not exist", q[1]))
		}
	}
	for _, p := range placed.FindAllStringSubmatch(string(text), -1) {
		sources, err := contents(tree, ".go", ending(all, p[2])...)
		if err != nil {
			return nil, err
		}
		if !regexp.MustCompile(`\b` + p[1] + `\b`).MatchString(sources) {
			wrong = append(wrong, fmt.Sprintf("CONTRIBUTING.md says that %s is in %s, and it is not", p[1], p[2]))
		}
	}
	return wrong, nil
}

// links finds links of the documents that lead to no file, or to no heading in it.
func links(tree fs.FS) (wrong []string, err error) {
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := fs.Glob(tree, pattern)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			to, section, _ := strings.Cut(l[1], "#")
			target := file
			if to != "" {
				target = path.Join(path.Dir(file), to)
			}
			if !leads(tree, target, section) {
				wrong = append(wrong, fmt.Sprintf("%s leads to %s, which does not exist", file, l[1]))
			}
		}
	}
	return wrong, nil
}

// leads reports whether there is a file or folder, and a heading in it if a section is named.
func leads(tree fs.FS, target, section string) bool {
	if _, err := fs.Stat(tree, target); err != nil || section == "" {
		return err == nil
	}
	text, err := fs.ReadFile(tree, target)
	for _, h := range heading.FindAllStringSubmatch(string(text), -1) {
		name := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
		if name == section {
			return true
		}
	}
	return err != nil
}

// everyPath lists all files and folders, without hidden ones and those of npm.
func everyPath(tree fs.FS) (all []string, err error) {
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		hidden := name != "." && strings.HasPrefix(path.Base(name), ".") || path.Base(name) == "node_modules"
		if err == nil && d.IsDir() && hidden {
			return fs.SkipDir
		}
		all = append(all, name)
		return err
	})
	return all, err
}

// ending returns the paths that end with another one.
func ending(all []string, with string) (found []string) {
	for _, name := range all {
		if strings.HasSuffix("/"+name, "/"+with) {
			found = append(found, name)
		}
	}
	return found
}

// excerpts finds excerpts in CONTRIBUTING.md that are not in the sources.
func excerpts(tree fs.FS) (wrong []string, err error) {
	text, err := fs.ReadFile(tree, "CONTRIBUTING.md")
	if err != nil {
		return nil, err
	}
	blocks := block.FindAllStringSubmatch(inList.ReplaceAllString(string(text), ""), -1)
	if len(blocks) < 4 {
		return nil, fmt.Errorf("CONTRIBUTING.md shows only %d excerpts", len(blocks))
	}
	sources := map[string]string{}
	for _, language := range []string{"go", "proto"} {
		all, err := contents(tree, "."+language, "services", "shared/proto/herald")
		if err != nil {
			return nil, err
		}
		sources[language] = spaced(all)
	}
	for _, b := range blocks {
		if !strings.Contains(sources[b[1]], spaced(b[2])) {
			wrong = append(wrong, "CONTRIBUTING.md shows what no source says any more; show what it says now:\n"+b[2])
		}
	}
	return wrong, nil
}

// decisions finds decisions whose number is not the next one.
func decisions(tree fs.FS) (wrong []string, err error) {
	files, err := fs.Glob(tree, "docs/decisions/*.md")
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no decisions")
	}
	for i, name := range files {
		if want := fmt.Sprintf("%04d", i+1); path.Base(name)[:4] != want {
			wrong = append(wrong, fmt.Sprintf("%s: %s is the next number", name, want))
		}
	}
	return wrong, nil
}

// documentedTests finds tests that docs/faults.md names and that are not there.
func documentedTests(tree fs.FS) (wrong []string, err error) {
	text, err := fs.ReadFile(tree, "docs/faults.md")
	if err != nil {
		return nil, err
	}
	sources, err := contents(tree, "_test.go", "deploy", "shared", "services")
	if err != nil {
		return nil, err
	}
	named := testName.FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		return nil, fmt.Errorf("docs/faults.md names no test")
	}
	for _, name := range named {
		if !strings.Contains(sources, "func "+name[1]+"(") {
			wrong = append(wrong, fmt.Sprintf("docs/faults.md names %s, which is no test", name[1]))
		}
	}
	return wrong, nil
}

// contents returns the texts of all files in folders whose names have an ending.
func contents(tree fs.FS, ending string, folders ...string) (string, error) {
	var all strings.Builder
	for _, folder := range folders {
		err := fs.WalkDir(tree, folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ending) {
				return err
			}
			text, err := fs.ReadFile(tree, name)
			all.Write(text)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return all.String(), nil
}

// spaced returns a text with single spaces, so that indentation does not matter.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") + " " }
