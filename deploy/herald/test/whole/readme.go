package whole

import (
	"regexp"
	"strings"
	"testing"
)

// Step is a command in the README and the answer below it, if any.
type Step struct{ Command, Answer string }

var (
	block = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```")
	// containers is the section of the README that needs Docker.
	containers = regexp.MustCompile(`(?s)\n## In containers\n.*?\n## `)
)

// README returns the steps of the README: those without and those with Docker.
func README(t testing.TB) (steps, inContainers []Step) {
	t.Helper()
	text := File(t, "README.md")
	section := containers.FindString(text)
	if section == "" {
		t.Fatal("the README has no section on containers")
	}
	return stepsOf(strings.Replace(text, section, "\n## ", 1)), stepsOf(section)
}

func stepsOf(text string) (steps []Step) {
	for _, b := range block.FindAllStringSubmatch(text, -1) {
		if b[1] == "sh" {
			steps = append(steps, Step{Command: b[2]})
		} else {
			steps[len(steps)-1].Answer = b[2]
		}
	}
	return steps
}
