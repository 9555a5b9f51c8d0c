package journey_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// Every command of the README has the answer that the README shows, on a new instance that
// `make run` started. The command `make test` itself is not run, because it runs this test.
func TestReadme(t *testing.T) {
	t.Parallel()
	steps, _ := whole.README(t)
	if !strings.Contains(steps[0].Command, "make run") || !strings.Contains(steps[0].Command, "make test") {
		t.Fatalf("the first block is not the two commands: %s", steps[0].Command)
	}
	i := whole.New(t)
	file := makeRun(i)
	here := strings.NewReplacer("localhost:8080", strings.TrimPrefix(i.URL, "http://"), ".data/", i.Dir+"/data/",
		".build/herald", file)
	shell := ""
	var events *watcher
	for _, s := range steps[1:] {
		command := here.Replace(s.Command)
		if strings.Contains(s.Answer, "mini-mouse") && strings.Contains(s.Answer, "USER_STATE_ACTIVE") {
			i.ChoosePassword("mini@example.com")
		}
		if strings.Contains(command, "examples/subscriber") { // does not end
			events = watch(t, "bash", "-euo", "pipefail", "-c", shell+command)
			continue
		}
		for line := range strings.Lines(command) { // a line may set variables for later ones
			if name, _, ok := strings.Cut(line, "="); ok && variable.MatchString(name) {
				shell += name + "='" + typed(i, shell+line+"printf %s \"$"+name+"\"") + "'\n"
				command = strings.Replace(command, line, "", 1)
			}
		}
		out := typed(i, shell+command)
		if s.Answer != "" {
			alike(t, command, here.Replace(s.Answer), out)
		} else if strings.HasPrefix(out, `{"code":`) {
			t.Errorf("%s\nwas refused: %s", command, out)
		}
	}
	if events == nil {
		t.Fatal("the README does not show the events")
	}
	events.until("herald.users.pat.added.v1")
}

var variable = regexp.MustCompile(`^[A-Z]+$`)

// typed returns the output of a command, which must not be empty.
func typed(i *whole.Instance, commands string) string {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(i.T.Context(), time.Minute)
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
func alike(t *testing.T, command, pasted, got string) {
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
