package whole

import (
	"regexp"
	"testing"
)

// Step is a command in the README or a guide, and the answer below it, if any.
type Step struct{ Command, Answer string }

var block = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```")

// Steps returns the steps of the README or a guide.
func Steps(t testing.TB, file string) (steps []Step) {
	t.Helper()
	for _, b := range block.FindAllStringSubmatch(File(t, file), -1) {
		if b[1] == "sh" {
			steps = append(steps, Step{Command: b[2]})
		} else {
			steps[len(steps)-1].Answer = b[2]
		}
	}
	if len(steps) == 0 {
		t.Fatalf("%s shows no command", file)
	}
	return steps
}
