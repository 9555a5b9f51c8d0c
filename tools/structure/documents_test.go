package structure

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestDocumentsAreTrue(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]func(fs.FS) ([]string, error){
		"excerpts": excerpts, "decisions": decisions, "tests": documentedTests, "paths": paths,
		"links": links,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, err := rule(os.DirFS("../.."))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range wrong {
				t.Error(w)
			}
		})
	}
}

func TestRulesOfDocuments(t *testing.T) {
	t.Parallel()
	const shown = "```go\nvar a = 1\n```\n  ```proto\n  message A {\n    string b = 1;\n  }\n  ```\n" +
		"```go\nvar b = 2\n```\n```go\nvar c = 3\n```\n"
	sources := fstest.MapFS{
		"services/a.go":               {Data: []byte("var (\n\ta = 1\n)\nvar a = 1\nvar b = 2\n\nvar c = 3\n")},
		"shared/proto/herald/a.md":    {Data: []byte("var d = 4")},
		"deploy/a.go":                 {Data: []byte("func TestNoTest(t *testing.T) {}")},
		"shared/proto/herald/a.proto": {Data: []byte("message A {\n  string b = 1;\n}\n")},
		"deploy/a_test.go":            {Data: []byte("func TestB(t *testing.T) {}")},
	}
	for name, c := range map[string]struct {
		rule       func(fs.FS) ([]string, error)
		file, text string
		want       string // a part of what is wrong; empty for nothing
	}{
		"what sources say": {excerpts, "CONTRIBUTING.md", shown, ""},
		"another source": {excerpts, "CONTRIBUTING.md", shown + "```go\nvar d = 4\n```\n",
			"show what it says now:\nvar d = 4"},
		"too few excerpts":    {excerpts, "CONTRIBUTING.md", "```go\nvar a = 1\n```\n", "only 1 excerpts"},
		"the first decision":  {decisions, "docs/decisions/0001-a.md", "", ""},
		"a number left out":   {decisions, "docs/decisions/0002-a.md", "", "0002-a.md: 0001 is the next number"},
		"no decisions":        {decisions, "docs/decisions.md", "", "there are no decisions"},
		"links":               {links, "docs/a.md", "# A b\n[a](#a-b) [b](../deploy/a.go) [c](https://a.example)", ""},
		"a link to nothing":   {links, "docs/a.md", "[a](b.md)", "docs/a.md leads to b.md"},
		"a link to no part":   {links, "docs/a.md", "# A\n[a](a.md#b)", "docs/a.md leads to a.md#b"},
		"a test":              {documentedTests, "docs/faults.md", "`TestB`", ""},
		"a test that is gone": {documentedTests, "docs/faults.md", "`TestB` `TestA`", "names TestA, which is no test"},
		"not in a test file":  {documentedTests, "docs/faults.md", "`TestNoTest`", "names TestNoTest, which"},
		"paths":               {paths, "CONTRIBUTING.md", "`services/a.go`, `a.go`, `proto/herald` and `/v1/gone`", ""},
		"a path that is gone": {paths, "CONTRIBUTING.md", "`services/b.go`", "services/b.go, which does not exist"},
		"a file that is gone": {paths, "CONTRIBUTING.md", "`c.proto`", "names c.proto, which does not exist"},
		"half a name":         {paths, "CONTRIBUTING.md", "`_test.go`", "names _test.go, which does not exist"},
		"a name":              {paths, "CONTRIBUTING.md", "`b` in\n`services/a.go`, `TestB` of `deploy`", ""},
		"a name that is gone": {paths, "CONTRIBUTING.md", "`e` in `services/a.go`", "e is in services/a.go, and it"},
		"part of a name":      {paths, "CONTRIBUTING.md", "`Test` in `a_test.go`", "Test is in a_test.go, and it"},
		"no paths":            {paths, "CONTRIBUTING.md", "text", "names no path"},
		"no tests":            {documentedTests, "docs/faults.md", "text", "names no test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{c.file: {Data: []byte(c.text)}}
			for name, file := range sources {
				tree[name] = file
			}
			wrong, err := c.rule(tree)
			if err != nil {
				wrong = append(wrong, err.Error())
			}
			if got := strings.Join(wrong, "\n"); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
