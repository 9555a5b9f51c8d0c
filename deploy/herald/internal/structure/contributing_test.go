package structure

import (
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
	tree := os.DirFS("../../../..")
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

// spaced returns a text with single spaces, so that indentation does not matter.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") + " " }
