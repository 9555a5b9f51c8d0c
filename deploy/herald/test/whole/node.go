package whole

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nodeLibraries is the folder of the libraries that tests use in Node.js.
const nodeLibraries = "deploy/herald/test/oauth/clients/"

// NodeLibraries puts openid-client and oauth4webapi into a folder, so that programs there can import them. They are
// committed as `npm run build` made them, so that tests need neither npm nor a network.
func NodeLibraries(t testing.TB, folder string) {
	t.Helper()
	for _, name := range []string{"oauth4webapi", "openid-client"} {
		at := filepath.Join(folder, "node_modules", name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{
			"index.mjs":    library(t, name+".mjs"),
			"package.json": `{"name":"` + name + `","exports":"./index.mjs"}`,
		} {
			if err := os.WriteFile(filepath.Join(at, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Axe returns the program axe-core, which finds barriers on a page. It is committed too.
func Axe(t testing.TB) string {
	t.Helper()
	return library(t, "axe-core.js")
}

// library returns a committed library. It fails the test if the library was not made of what is there now.
func library(t testing.TB, name string) string {
	t.Helper()
	text := File(t, nodeLibraries+"dist/"+name)
	head, _, _ := strings.Cut(text, "\n\n")
	for _, line := range strings.Split(head, "\n")[1:] {
		hash, source, _ := strings.Cut(strings.TrimPrefix(line, "// "), " ")
		if sum := sha256.Sum256([]byte(File(t, nodeLibraries+source))); fmt.Sprintf("%x", sum) != hash {
			t.Errorf("%s has changed: type npm ci && npm run build in %s", source, nodeLibraries)
		}
	}
	return text
}
