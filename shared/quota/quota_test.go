package quota

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each quota has a trigger in a migration, or a name in Go that a program asks for, and not both.
func TestEachQuotaIsCounted(t *testing.T) {
	t.Parallel()
	counted := map[string]string{}
	matches(t, "../../services/*/internal/store/migrations/*.sql", `keep_quota\('(\w+)'`, func(name string) {
		counted[name] += "trigger"
	})
	names := map[string]string{
		"AppKeys": AppKeys, "IdpLinks": IdpLinks, "ImportBytes": ImportBytes, "Metadata": Metadata,
		"Sessions": Sessions,
	}
	asked := map[string]bool{}
	for _, pattern := range []string{"../../services/*/internal/store/*.go", "../../gateway/*.go"} {
		matches(t, pattern, `\bquota\.(\w+)`, func(name string) { asked[name] = true })
	}
	for name, quota := range names {
		if asked[name] {
			counted[quota] += "program"
		}
	}
	for _, q := range All() {
		if by := counted[q.Name]; by != "trigger" && by != "program" {
			t.Errorf("%s is counted by %q", q.Name, by)
		}
		delete(counted, q.Name)
	}
	if len(counted) > 0 {
		t.Errorf("these are no quotas: %v", counted)
	}
}

// matches calls found with the first group of each match in the files of a pattern, except tests.
func matches(t *testing.T, pattern, expression string, found func(string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(string(text), -1) {
			found(match[1])
		}
	}
}

func TestOperatorChangesTheTable(t *testing.T) {
	t.Parallel()
	s := Settings{" pats=7, roles = 0,pats@org-a=9,roles@o=1,import_bytes=9000000000"}
	for name, want := range map[string][2]int64{ // in org-a, elsewhere
		"pats": {9, 7}, "roles": {0, 0}, "idps": {100, 100}, "import_bytes": {9_000_000_000, 9_000_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, err := s.Of(name)
			if err != nil || q.Name != name || q.In("org-a") != want[0] || q.In("org-b") != want[1] {
				t.Errorf("%+v, %v", q, err)
			}
		})
	}
}

func TestOperatorsQuotaThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"pats", "pats=", "pats=-1", "pats=x", "nothing=1", "pats=99999999999999999999",
		"pats@=1", "nothing@o=1", "pats@o",
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			_, err := Settings{wrong}.Table()
			_, ofErr := Settings{wrong}.Of("pats")
			if err == nil || !strings.Contains(err.Error(), "HERALD_QUOTAS") ||
				!strings.HasSuffix(err.Error(), "projects, roles, sessions, user_grants") || ofErr == nil {
				t.Errorf("%v, %v", err, ofErr)
			}
		})
	}
}
