package whole

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The folders of the libraries that tests use in Node.js: those of clients, those of frameworks, and the one of an
// OpenID provider.
const (
	nodeClients    = "deploy/herald/test/oauth/clients/"
	nodeFrameworks = nodeClients + "frameworks/"
	nodeProvider   = nodeClients + "provider/"
)

// NodeLibraries puts openid-client and oauth4webapi into a folder, so that programs there can import them. They are
// committed as `npm run build` made them, so that tests need neither npm nor a network.
func NodeLibraries(t testing.TB, folder string) {
	t.Helper()
	for _, name := range []string{"oauth4webapi", "openid-client"} {
		install(t, folder, name, "index.mjs", library(t, nodeClients, name+".mjs"))
	}
}

// NodeFrameworks puts those of the frameworks into a folder in the same way.
func NodeFrameworks(t testing.TB, folder string) {
	t.Helper()
	for name, file := range map[string]string{
		"@auth/express": "@auth-express.mjs", "express": "express.cjs", "express-session": "express-session.cjs",
		"express-oauth2-jwt-bearer": "express-oauth2-jwt-bearer.cjs", "jose": "jose.mjs", "passport": "passport.cjs",
		"express-openid-connect": "express-openid-connect.cjs", "passport-openidconnect": "passport-openidconnect.cjs",
	} {
		install(t, folder, name, "index"+filepath.Ext(file), library(t, nodeFrameworks, file))
	}
}

// NodeProvider puts oidc-provider into a folder in the same way.
func NodeProvider(t testing.TB, folder string) {
	t.Helper()
	install(t, folder, "oidc-provider", "index.mjs", library(t, nodeProvider, "oidc-provider.mjs"))
}

// PageLibrary returns oidc-client-ts, which runs in browsers. It is committed too.
func PageLibrary(t testing.TB) string {
	t.Helper()
	return library(t, nodeFrameworks, "oidc-client-ts.mjs")
}

// install writes a library to where programs in a folder look for it.
func install(t testing.TB, folder, name, index, text string) {
	t.Helper()
	at := filepath.Join(folder, "node_modules", name)
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		index:          text,
		"package.json": `{"name":"` + name + `","exports":"./` + index + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(at, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Axe returns the program axe-core, which finds barriers on a page. It is committed too.
func Axe(t testing.TB) string {
	t.Helper()
	return library(t, nodeClients, "axe-core.js")
}

// library returns a committed library. It fails the test if the library was not built from the present files of its
// folder.
func library(t testing.TB, folder, name string) string {
	t.Helper()
	text := File(t, folder+"dist/"+name)
	head, _, _ := strings.Cut(text, "\n\n")
	for _, line := range strings.Split(head, "\n")[1:] {
		hash, source, _ := strings.Cut(strings.TrimPrefix(line, "// "), " ")
		if sum := sha256.Sum256([]byte(File(t, folder+source))); fmt.Sprintf("%x", sum) != hash {
			t.Errorf("%s has changed: type npm ci && npm run build in %s", source, folder)
		}
	}
	return text
}
