package journey_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// Every command of the README has the answer that the README shows, on a new instance that `make run` started, and so
// have those of the guides after it. The command `make test` itself is not run, because it runs this test.
func TestReadme(t *testing.T) {
	t.Parallel()
	steps := whole.Steps(t, "README.md")
	if !strings.Contains(steps[0].Command, "make run") || !strings.Contains(steps[0].Command, "make test") {
		t.Fatalf("the first block is not the two commands: %s", steps[0].Command)
	}
	i := whole.New(t)
	binary := makeRun(i)
	follow(i, binary, steps[1:])
	for _, name := range guides { // one after the other, as a reader may
		follow(i, binary, whole.Steps(t, "docs/"+name+".md"))
	}
}

// Guides are documents whose commands the test follows on a new instance. The commands of the others are followed by
// the tests that are named here; the reference and some guides have none.
var (
	guides = []string{
		"applications", "backup", "command-line", "machines", "operating", "people", "providers", "subscribing",
	}
	others = map[string]string{
		"concepts": "", "errors": "", "faults": "", "performance": "", "scaling": "", "settings": "", "threats": "",
		"containers": "TestCompose", "connect-an-application": "its own", "login-by-program": "TestLogInByProgram",
		"monitoring": "TestCompose", "moving-in": "TestMovingIn", "proxies": "TestProxies",
	}
)

// Every command of a guide has the answer that the guide shows, on a machine where `make run` has just worked. A guide
// needs no other one.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, name := range guides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := whole.Steps(t, "docs/"+name+".md")
			follow(whole.Start(t), whole.Binary(t), steps)
		})
	}
	files, err := filepath.Glob(whole.Root(t) + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		test, known := others[name]
		if !known && !slices.Contains(guides, name) {
			t.Errorf("no test follows %s", file)
		}
		if known && test == "" && strings.Contains(whole.File(t, "docs/"+name+".md"), "```sh") {
			t.Errorf("no test follows the commands of %s", file)
		}
	}
}

// follow types the commands of a document. A binary is in the place of the one that `make run` builds.
func follow(i *whole.Instance, binary string, steps []whole.Step) {
	i.T.Helper()
	here := strings.NewReplacer("localhost:8080", strings.TrimPrefix(i.URL, "http://"), ".data/", i.Dir+"/data/",
		".build/herald", binary)
	shell, ends := "", func() {}
	for _, s := range steps {
		command := here.Replace(s.Command)
		if strings.Contains(s.Answer, "mini-mouse") && strings.Contains(s.Answer, "USER_STATE_ACTIVE") {
			i.ChoosePassword("mini@example.com")
		}
		if strings.Contains(command, "examples/subscriber") { // does not end
			events := watch(i.T, "bash", "-euo", "pipefail", "-c", shell+command)
			ends = func() { events.until("herald.users.pat.added.v1") }
			continue
		}
		for line := range strings.Lines(command) { // a line may set variables for later ones
			if name, _, ok := strings.Cut(line, "="); ok && variable.MatchString(name) {
				shell += name + "='" + typed(i, shell+line+"printf %s \"$"+name+"\"") + "'\n"
				command = strings.Replace(command, line, "", 1)
			}
		}
		if command == "" {
			continue
		}
		out := typed(i, shell+command)
		if s.Answer != "" {
			alike(i.T, command, here.Replace(s.Answer), out)
		} else if strings.HasPrefix(out, `{"code":`) {
			i.T.Errorf("%s\nwas refused: %s", command, out)
		}
	}
	ends()
}

var variable = regexp.MustCompile(`^[A-Z]+$`)

// typed returns the output of a command, which must not be empty.
func typed(i *whole.Instance, commands string) string {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(i.T.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	c.Dir, c.Env = whole.Root(i.T), i.Env
	out, err := c.Output()
	if err != nil || len(out) == 0 {
		i.T.Errorf("%s\nended with %v and printed %q", commands, err, out)
	}
	return string(out)
}

// makeRun starts the instance with `make run` and returns the binary that it built.
func makeRun(i *whole.Instance) (file string) {
	i.T.Helper()
	file = i.Dir + "/herald"
	i.StartCommand("make", "--no-print-directory", "-C", whole.Root(i.T), "run", "BINARY="+file)
	return file
}

// alike checks that an answer has the same fields and values as the one in the README, except for
// values that differ from run to run.
func alike(t testing.TB, command, pasted, got string) {
	t.Helper()
	var want, have any
	if err := json.Unmarshal([]byte(pasted), &want); err != nil {
		t.Fatalf("the pasted answer of %s: %v", command, err)
	}
	if err := json.Unmarshal([]byte(got), &have); err != nil {
		t.Fatalf("%s printed %q: %v", command, got, err)
	}
	a, _ := json.Marshal(masked("", want))
	b, _ := json.Marshal(masked("", have))
	if string(a) != string(b) {
		t.Errorf("%s\npasted  %s\nprinted %s", command, a, b)
	}
}

var varying = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT.*Z|[0-9a-f]{8}-[0-9a-f-]{27})$`)

// random are the secrets of authenticator apps, and recovery codes.
var random = regexp.MustCompile(`\b[A-Z2-7]{32}\b|\b[A-Z2-7]{4}(-[A-Z2-7]{4}){2}\b`)

// masked replaces times, ids, sequences and what is random. A text that ends in … in the README is compared by its
// beginning.
func masked(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = masked(k, v[k])
		}
		return v
	case []any:
		for i := range v {
			v[i] = masked(name, v[i])
		}
		return v
	case string:
		if varying.MatchString(v) || name == "sequence" {
			return "*"
		}
		if name == "text" || name == "footerText" {
			return string([]rune(v)[:5])
		}
		return random.ReplaceAllString(v, "*")
	}
	return v
}
