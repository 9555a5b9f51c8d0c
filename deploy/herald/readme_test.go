package main_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// step is a command of the README and the answer pasted below it, if any.
type step struct{ command, answer string }

var block = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```")

// containers is the section of the README that needs Docker: TestCompose runs it.
var containers = regexp.MustCompile(`(?s)\n## In containers\n.*?\n## `)

// readme is the README without that section, and the section.
func readme(t testing.TB) (rest, section string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	section = containers.FindString(string(text))
	if section == "" {
		t.Fatal("the README has no section on containers")
	}
	return strings.Replace(string(text), section, "\n## ", 1), section
}

func stepsOf(text string) []step {
	var steps []step
	for _, b := range block.FindAllStringSubmatch(text, -1) {
		if b[1] == "sh" {
			steps = append(steps, step{command: b[2]})
		} else {
			steps[len(steps)-1].answer = b[2]
		}
	}
	return steps
}

// Every command of the README does what the README says, on a fresh instance that
// `make run` started; `make test` is what runs this.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, _ := readme(t)
	steps := stepsOf(text)
	if !strings.Contains(steps[0].command, "make run") || !strings.Contains(steps[0].command, "make test") {
		t.Fatalf("the first block is not the two commands: %s", steps[0].command)
	}
	i := newInstance(t)
	i.make()
	shell := ""
	var events *watcher
	for _, s := range steps[1:] {
		command := strings.NewReplacer("localhost:8080", strings.TrimPrefix(i.url, "http://"), ".data/", i.dir+
			"/data/", ".build/herald", i.binary).Replace(s.command)
		if strings.Contains(s.answer, "USER_STATE_ACTIVE") {
			i.choosePassword("mini@example.com")
		}
		if strings.Contains(command, "examples/subscriber") { // does not end
			events = watch(t, "bash", "-euo", "pipefail", "-c", shell+command)
			continue
		}
		for line := range strings.Lines(command) { // variables live on
			if name, _, ok := strings.Cut(line, "="); ok && variable.MatchString(name) {
				shell += name + "='" + i.typed(shell+line+"printf %s \"$"+name+"\"") + "'\n"
				command = strings.Replace(command, line, "", 1)
			}
		}
		out := i.typed(shell + command)
		if s.answer != "" {
			alike(t, command, s.answer, out)
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

// typed is what commands print, which they must.
func (i *instance) typed(commands string) string {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	c.Dir, c.Env = "../..", i.env
	out, err := c.Output()
	if err != nil || len(out) == 0 {
		i.t.Errorf("%s\nended with %v and printed %q", commands, err, out)
	}
	return string(out)
}

// make starts the instance by the README's own command.
func (i *instance) make() {
	i.t.Helper()
	i.binary = i.dir + "/herald"
	i.startCommand("make", "--no-print-directory", "-C", "../..", "run", "BINARY="+i.binary)
}

// choosePassword does what the mail's reader does, without a browser.
func (i *instance) choosePassword(to string) {
	i.t.Helper()
	link, err := url.Parse(regexp.MustCompile(`http://\S+`).FindString(i.mail(to).Text))
	if err != nil {
		i.t.Fatal(err)
	}
	form := link.Query()
	form.Set("password", "correct horse battery")
	form.Set("confirmation", "correct horse battery")
	link.RawQuery = ""
	post, err := http.NewRequest(http.MethodPost, link.String(), strings.NewReader(form.Encode()))
	if err != nil {
		i.t.Fatal(err)
	}
	post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	post.Header.Set("Origin", i.url) // all that a browser says on plain HTTP off loopback
	r, err := http.DefaultClient.Do(post)
	if err != nil {
		i.t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		i.t.Fatalf("the page answered %s", r.Status)
	}
}

// alike holds that an answer has the fields of the pasted one, and its values but for
// what differs from run to run.
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

// masked replaces times, ids and sequences; a text that the README shortens with …
// is compared by its beginning.
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
	}
	return v
}
