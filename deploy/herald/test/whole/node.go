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
		text := File(t, nodeLibraries+"dist/"+name+".mjs")
		head, _, _ := strings.Cut(text, "\n\n")
		for _, line := range strings.Split(head, "\n")[1:] {
			hash, source, _ := strings.Cut(strings.TrimPrefix(line, "// "), " ")
			if sum := sha256.Sum256([]byte(File(t, nodeLibraries+source))); fmt.Sprintf("%x", sum) != hash {
				t.Errorf("%s has changed: type npm ci && npm run build in %s", source, nodeLibraries)
			}
		}
		at := filepath.Join(folder, "node_modules", name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{
			"index.mjs": text, "package.json": `{"name":"` + name + `","exports":"./index.mjs"}`,
		} {
			if err := os.WriteFile(filepath.Join(at, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
