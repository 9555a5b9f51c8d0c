package command_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/command"
)

// Each command says in its help what to type, and each command of the first level is in a group.
func TestCommandsHaveExamplesAndGroups(t *testing.T) {
	t.Parallel()
	root := command.New()
	for _, c := range root.Commands() {
		if c.GroupID == "" {
			t.Errorf("%s is in no group of `herald --help`", c.CommandPath())
		}
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, inner := range c.Commands() {
			if !strings.Contains(inner.Example, inner.CommandPath()) {
				t.Errorf("%s has no example", inner.CommandPath())
			}
			walk(inner)
		}
	}
	walk(root)
}

func TestVersion(t *testing.T) {
	t.Parallel()
	out, err := execute(t, "", "--version")
	if err != nil || !regexp.MustCompile(`^herald version \S+, commit [0-9a-z ]+, go1\.\S+\n$`).MatchString(out) {
		t.Errorf("%v %q", err, out)
	}
}
