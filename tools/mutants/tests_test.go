package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A check is noticed if a test that reaches it fails without it, and passes with all checks.
func TestKill(t *testing.T) {
	t.Parallel()
	const fails = "echo '--- FAIL: TestB (0.01s)'; exit 1"
	for name, c := range map[string]struct {
		without, with string // what the tests do
		reach         []string
		by            string
		broken        bool
	}{
		"noticed":                   {fails, "exit 0", []string{"TestA", "TestB"}, "folder TestB", false},
		"unnoticed":                 {"exit 0", "exit 0", []string{"TestA"}, "", false},
		"not reached":               {fails, "exit 0", nil, "", false},
		"fails with all checks too": {fails, fails, []string{"TestA"}, "", true},
		"ends without a test":       {"exit 2", "exit 0", []string{"TestA"}, "folder", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			binary := filepath.Join(dir, "tests")
			script := "#!/bin/sh\nif [ \"$(od -An -N4 -tu4 \"$MUTANTS\" | tr -d ' ')\" = 7 ]; then " + c.without +
				"; else " + c.with + "; fi\n"
			if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
				t.Fatal(err)
			}
			r := &runner{root: dir, dir: dir, killed: map[string]string{}}
			s := &suite{folder: "folder", binary: binary, reach: map[int][]string{7: c.reach}}
			err := r.kill(0, try{Mutant{N: 7, ID: "check"}, s})
			if by := r.killed["check"]; by != c.by || (err != nil) != c.broken {
				t.Errorf("noticed by %q, %v", by, err)
			}
		})
	}
}
