package domain

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	declared = regexp.MustCompile(`Refusal\{Code: "([a-z_]+)"(?:, status: http\.Status(\w+))?`)
	said     = regexp.MustCompile(`\.Say\("(the assertion[^"]*)"\)`)
	row      = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(?: ([^|]+) \\|)? [^|]+ \\|$")
)

// The guide lists each error, each description of a refused assertion, and no others.
func TestGuideListsErrors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/login-by-program.md")
	if err != nil {
		t.Fatal(err)
	}
	_, errors, found := strings.Cut(string(text), "\n## Errors\n")
	if !found {
		t.Fatal("the guide has no section on errors")
	}
	errors, _, _ = strings.Cut(errors, "\n## ") // the tables of further sections are about something else
	listed := map[string]string{}
	for _, r := range row.FindAllStringSubmatch(errors, -1) {
		if _, twice := listed[r[1]]; twice {
			t.Errorf("docs/login-by-program.md lists %q twice", r[1])
		}
		listed[r[1]] = r[2]
	}
	want := map[string]string{}
	err = filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, d := range declared.FindAllStringSubmatch(string(source), -1) {
			if want[d[1]] == "" {
				want[d[1]] = d[2]
			}
		}
		for _, s := range said.FindAllStringSubmatch(string(source), -1) {
			want[s[1]] = ""
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 30 {
		t.Errorf("only %d errors were found", len(want))
	}
	for code, status := range want {
		where, there := listed[code]
		if !there {
			t.Errorf("docs/login-by-program.md does not say what to change after %q", code)
		}
		for number := 400; number < 600; number++ {
			name := strings.ReplaceAll(http.StatusText(number), " ", "")
			if status != "" && name == status && !strings.Contains(where, strconv.Itoa(number)) {
				t.Errorf("%s has the status %d, and docs/login-by-program.md says %s", code, number, where)
			}
		}
	}
	for code := range listed {
		if _, there := want[code]; !there {
			t.Errorf("docs/login-by-program.md lists %q, which is no error", code)
		}
	}
}
