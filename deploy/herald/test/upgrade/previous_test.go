package upgrade_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
)

// since are the packages without which the previous version could not go on with the databases of this one, in which it
// gets the sources of this one. Remove what the version of deploy/previous-version has.
var since = []string{
	"shared/postgres", // a program refused every database that a newer one had migrated
}

// previousProgram builds the version before this one, whose commit is in deploy/previous-version, and returns the path
// of its binary.
func previousProgram(t *testing.T) string {
	t.Helper()
	root := whole.Root(t)
	source := filepath.Join(root, ".build", "test", "previous") // always the same, so that Go compiles it only once
	commit := strings.TrimSpace(whole.File(t, "deploy/previous-version"))
	if err := known(root, commit); err != nil {
		t.Fatal(err)
	}
	run := func(dir, name string, args ...string) {
		t.Helper()
		command := exec.Command(name, args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v: %s", name, args, err, out)
		}
	}
	run(root, "rm", "-rf", source)
	run(root, "mkdir", "-p", source)
	run(root, "git", "archive", "--output="+source+"/herald.tar", commit)
	run(source, "tar", "-xf", "herald.tar")
	for _, folder := range since {
		run(source, "rm", "-r", folder)
		run(root, "cp", "-r", folder, filepath.Join(source, folder))
	}
	run(source, "go", "build", "-o", "herald.previous", "./deploy/herald")
	return source + "/herald.previous"
}

// known returns an error for who reads it, unless the repository has a commit, and the present one came after it.
func known(root, commit string) error {
	if err := exec.Command("git", "-C", root, "merge-base", "--is-ancestor", commit, "HEAD").Run(); err != nil {
		return fmt.Errorf("the previous version, commit %s of deploy/previous-version, is not in the history of this "+
			"clone. If the clone is shallow, `git fetch --unshallow` gets it: %w", commit, err)
	}
	return nil
}

// hasHistory reports whether a folder is a clone with its whole history. One for a single build may have none, and then
// nothing can be upgraded from.
func hasHistory(root string) bool {
	out, err := exec.Command("git", "-C", root, "rev-parse", "--is-shallow-repository").Output()
	return err == nil && strings.TrimSpace(string(out)) == "false"
}

// A clone without the previous version is told how to get it.
func TestShallowClone(t *testing.T) {
	t.Parallel()
	clone := t.TempDir() + "/shallow"
	out, err := exec.Command("git", "clone", "--quiet", "--depth=1", "file://"+whole.Root(t), clone).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	commit := strings.TrimSpace(whole.File(t, "deploy/previous-version"))
	if err := known(clone, commit); err == nil || !strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("a shallow clone is told %v", err)
	}
	if hasHistory(clone) {
		t.Error("a shallow clone has its whole history")
	}
	if err := known(whole.Root(t), commit); err != nil && hasHistory(whole.Root(t)) {
		t.Error(err)
	}
}
