package journey_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

var programBlock = regexp.MustCompile("(?s)```(sh|go|js)\n(.*?)```")

// Every command and program in docs/login-by-program.md can log in as the machine user that the guide creates.
func TestLogInByProgram(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	folder := t.TempDir()
	whole.NodeLibraries(t, folder)
	// Each program of the guide must print a user; the first block only makes one.
	const ended = "\necho '--- ended'\n"
	script := "herald() { " + whole.Binary(t) + " \"$@\"; }\nPAT=" + i.Token + "\n"
	programs := 0
	for _, b := range programBlock.FindAllStringSubmatch(whole.File(t, "docs/login-by-program.md"), -1) {
		code := strings.ReplaceAll(b[2], "http://localhost:8080", i.URL)
		switch b[1] {
		case "sh":
			script += code + ended
		case "js":
			if err := os.WriteFile(filepath.Join(folder, "program.mjs"), []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			script += "node program.mjs" + ended
		case "go":
			if !strings.Contains(whole.File(t, "examples/machine/main.go"), b[2]) {
				t.Error("examples/machine/main.go is not what the guide shows")
			}
			script += "cd " + whole.Root(t) + "; go run ./examples/machine " + i.URL + " " + folder + "/key.json; cd " +
				folder + ended
		}
		programs++
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	c.Dir, c.Env = folder, i.Env
	out, err := c.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		t.Fatalf("%v, printed %s\n%s", err, out, exit.Stderr)
	}
	parts := strings.Split(string(out), "--- ended\n")
	if err != nil || len(parts) != programs+1 || programs < 6 {
		t.Fatalf("%v, %d programs printed %q", err, programs, out)
	}
	for n, said := range parts[1:programs] {
		if !strings.Contains(said, `"userName":"reports"`) {
			t.Errorf("program %d printed %q", n+1, said)
		}
	}
}
