package oauth_test

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
)

// example runs examples/login for a world and returns its address.
func (w world) example() string {
	w.TB.Helper()
	file := filepath.Join(whole.Dir(w.TB), "example")
	build := exec.Command("go", "build", "-o", file, whole.Root(w.TB)+"/examples/login")
	if out, err := build.CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	address := strings.Replace(whole.FreeAddress(w.TB), "127.0.0.1", "localhost", 1)
	c := exec.Command(file, "-issuer", w.URL, "-listen", address, w.Dir+"/data/admin.pat")
	out, err := c.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := c.Start(); err != nil {
		w.Fatal(err)
	}
	w.TB.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready http://"+address+"\n" {
		w.Fatalf("%q, %v", line, err)
	}
	return "http://" + address
}

// A person logs in to the example application, and out of it.
func TestExample(t *testing.T) {
	t.Parallel()
	w, c := start(t), open(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	example := w.example()
	if got := c.visit(example); got != "Example" {
		t.Fatalf("the example is %q", got)
	}
	if got := c.submit(); got != "Sign in" {
		t.Fatalf("its button leads to %q", got)
	}
	if got := c.submit("name", "ada", "current", "correct horse"); got != "Example" ||
		c.read("p") != "You are Ada Lovelace (ada, ada@example.com)." {
		t.Fatalf("the login leads to %q: %s", got, c.read("body"))
	}
	c.picture(t, "example")
	if got := c.submit(); got != "Example" || c.read("button") != "Log in with Herald" {
		t.Errorf("the logout leads to %q: %s", got, c.read("body"))
	}
	if got := c.submit(); got != "Sign in" {
		t.Errorf("after the logout the button leads to %q", got)
	}
}
