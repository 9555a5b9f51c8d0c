package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// suite is the tests of a package.
type suite struct {
	folder, binary string
	mu             sync.Mutex
	// reach are the tests that reach a check, by its number.
	reach map[int][]string
}

// tests removes each check that the matrix did not notice, and runs the tests that reach it: those of
// its package first, then those of others of its service.
func (r *runner) tests() error {
	for _, name := range []string{"matrix.jsonl", "tests.jsonl"} {
		if err := r.read(name); err != nil {
			return err
		}
	}
	var errs error
	for rank := 0; ; rank++ {
		wanted, err := r.wanted(rank)
		if err != nil || len(wanted) == 0 {
			return errors.Join(errs, err)
		}
		errs = errors.Join(errs, r.survey(slices.Collect(maps.Keys(wanted))))
		var tries []try
		for folder, all := range wanted {
			for _, m := range all {
				tries = append(tries, try{m, r.suites[folder]})
			}
		}
		errs = errors.Join(errs, spread(tries, r.kill))
	}
}

// wanted returns the checks that were not noticed yet, by the folder whose tests come next.
func (r *runner) wanted(rank int) (map[string][]Mutant, error) {
	wanted := map[string][]Mutant{}
	for _, m := range r.all {
		if m.File == "" || r.killed[m.ID] != "" {
			continue
		}
		folders, err := r.folders(m.File)
		if err != nil {
			return nil, err
		}
		if rank < len(folders) {
			wanted[folders[rank]] = append(wanted[folders[rank]], m)
		}
	}
	return wanted, nil
}

// survey builds the tests of packages, and runs each test alone with all checks to see which it
// reaches.
func (r *runner) survey(folders []string) error {
	type test struct {
		*suite
		name string
	}
	var mu sync.Mutex
	var tests []test
	folders = slices.DeleteFunc(folders, func(folder string) bool { return r.suites[folder] != nil })
	for _, folder := range folders {
		r.suites[folder] = &suite{folder: folder, reach: map[int][]string{}}
	}
	err := spread(folders, func(process int, folder string) (err error) {
		s := r.suites[folder]
		if s.binary, err = r.build(folder); err != nil {
			return err
		}
		names, err := r.run(process, s, 0, "-test.list", "^(Test|Fuzz|Example)")
		mu.Lock()
		defer mu.Unlock()
		for _, name := range strings.Fields(string(names)) {
			tests = append(tests, test{s, name})
		}
		return err
	})
	return errors.Join(err, spread(tests, func(process int, t test) error {
		if out, err := r.run(process, t.suite, 0, only(t.name)...); err != nil {
			return broken(t.folder+" "+t.name, err, out)
		}
		reached, err := r.reached(process)
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, n := range reached {
			t.reach[n] = append(t.reach[n], t.name)
		}
		return err
	}))
}

// try is a check to be removed from the tests of a package.
type try struct {
	Mutant
	*suite
}

var failed = regexp.MustCompile(`--- FAIL: (\w+)`)

// kill removes a check, runs the tests that reach it, and writes down which test fails. Tests that noticed other
// removals come first, because they probably notice the next one too. A failure counts only if the same test then
// passes with all checks.
func (r *runner) kill(process int, t try) error {
	known := r.noticing(t.folder)
	first := slices.DeleteFunc(slices.Clone(t.reach[t.N]), func(name string) bool { return !known[name] })
	others := slices.DeleteFunc(slices.Clone(t.reach[t.N]), func(name string) bool { return known[name] })
	for _, names := range [][]string{first, others} {
		if len(names) == 0 {
			continue
		}
		out, err := r.run(process, t.suite, t.N, only(names...)...)
		if err == nil {
			continue
		}
		by := t.folder // as a whole, if it ends without the name of a test
		if test := failed.FindSubmatch(out); test != nil {
			names = []string{string(test[1])}
			by += " " + names[0]
		}
		if out, err := r.run(process, t.suite, 0, only(names...)...); err != nil {
			return broken(by, err, out)
		}
		return r.found(t.ID, by)
	}
	return nil
}

// broken returns the error of a test that fails although no check is removed, with the beginning of
// its output: the stacks of a panic are long.
func broken(test string, err error, out []byte) error {
	return fmt.Errorf("%s fails with all checks: %w\n%s", test, err, out[:min(len(out), 2<<10)])
}

// found writes down that a test noticed a removal.
func (r *runner) found(check, by string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed[check] = by
	fmt.Println("killed  ", check, "by", by)
	f, err := os.OpenFile(filepath.Join(r.dir, "tests.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(finding{check, by})
}

// noticing returns the tests of a package that noticed other removals.
func (r *runner) noticing(folder string) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]bool{}
	for _, by := range r.killed {
		if name, ok := strings.CutPrefix(by, folder+" "); ok {
			names[name] = true
		}
	}
	return names
}

// only returns the flags for running these tests until one fails.
func only(names ...string) []string {
	return []string{"-test.run", "^(" + strings.Join(names, "|") + ")$", "-test.failfast", "-test.timeout", "5m"}
}

// run runs the tests of a package without a check, or with all for 0.
func (r *runner) run(process int, s *suite, removed int, flags ...string) ([]byte, error) {
	switches, err := r.switches(process, removed)
	if err != nil {
		return nil, err
	}
	c := exec.Command(s.binary, flags...)
	c.Dir, c.Env = filepath.Join(r.root, s.folder), append(os.Environ(), "MUTANTS="+switches)
	return c.CombinedOutput()
}
