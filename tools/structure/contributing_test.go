package structure

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// block is one piece of source that CONTRIBUTING.md shows, with its language.
var block = regexp.MustCompile("(?s)```(go|proto)\n(.*?)```")

// The excerpts in CONTRIBUTING.md are in the sources.
func TestContributingShowsTheSources(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	text, err := fs.ReadFile(tree, "CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	// Blocks in a list are indented.
	blocks := block.FindAllStringSubmatch(regexp.MustCompile(`(?m)^  `).ReplaceAllString(string(text), ""), -1)
	if len(blocks) < 4 {
		t.Fatalf("only %d blocks were seen", len(blocks))
	}
	sources := map[string]string{}
	for _, dir := range []string{"services", "shared/proto/herald"} {
		err := fs.WalkDir(tree, dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				var file []byte
				file, err = fs.ReadFile(tree, name)
				sources[strings.TrimPrefix(path.Ext(name), ".")] += spaced(string(file))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range blocks {
		if !strings.Contains(sources[b[1]], spaced(b[2])) {
			t.Errorf("CONTRIBUTING.md shows what no source says any more; show what it says now:\n%s", b[2])
		}
	}
}

// Every decision has a number of its own.
func TestDecisionsAreNumbered(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("../.."), "docs/decisions/*.md")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d decisions, %v", len(files), err)
	}
	for i, name := range files {
		if got := path.Base(name)[:4]; got != fmt.Sprintf("%04d", i+1) {
			t.Errorf("%s has the number %s, and %04d is the next", name, got, i+1)
		}
	}
}

// Every test that docs/faults.md names is there.
func TestFaultsNamesTests(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	text, err := fs.ReadFile(tree, "docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, pattern := range []string{"deploy/herald/test/*/*_test.go", "deploy/herald/internal/allinone/*_test.go",
		"shared/event/*_test.go", "services/notification/internal/delivery/*_test.go",
		"services/auth/internal/oauth/backchannel/*_test.go", "services/idp/internal/directory/*_test.go"} {
		files, _ := fs.Glob(tree, pattern)
		for _, name := range files {
			file, err := fs.ReadFile(tree, name)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(file)
		}
	}
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 10 {
		t.Fatalf("only %d tests were seen", len(named))
	}
	for _, name := range named {
		if !strings.Contains(sources.String(), "func "+name[1]+"(") {
			t.Errorf("docs/faults.md names %s, which is no test", name[1])
		}
	}
}

// spaced returns a text with single spaces, so that indentation does not matter.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") + " " }
