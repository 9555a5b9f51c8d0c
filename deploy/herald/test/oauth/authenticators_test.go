package oauth_test

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// Vault logs people in, and Kubernetes lets them in with their id tokens. Both read names and roles. Kubernetes wants
// an issuer with https, which is a proxy here.
func TestVaultAndKubernetesLetPeopleIn(t *testing.T) {
	t.Parallel()
	var to *url.URL
	proxy := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}})
	issuer := "https://" + proxy.Listener.Addr().String()
	w := start(t, "HERALD_PUBLIC_URL="+issuer)
	to, _ = url.Parse(w.URL)
	proxy.StartTLS()
	t.Cleanup(proxy.Close)
	w.ada()
	f := w.frameworks("authenticators")
	folder := t.TempDir()
	ca, program := filepath.Join(folder, "ca.pem"), filepath.Join(folder, "authenticators")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	clients := filepath.Join(whole.Root(t), "deploy/herald/test/oauth/clients/authenticators")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = clients
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), f.environment()...)
	c.Env = append(c.Env, "ISSUER="+issuer, "CA="+ca, "SETTINGS="+filepath.Join(clients, "kubernetes.yaml"))
	f.runProgram(c, `^ready$`)
	browser := chromium{t, outside.OpenBrowser(t, "accept-lang=en", "ignore-certificate-errors")}
	browser.leads("the program", browser.visit(f.origin), "Sign in")
	browser.submit("name", "ada", "current", "correct horse")
	browser.awaits("Ada Lovelace is ada@example.com: [reader] [reader] [reader]")
}
