package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"herald/deploy/herald/internal/mutants/mutant"
)

// parallel is the number of processes that run tests.
const parallel = 2

// runner removes checks and runs tests without them.
type runner struct {
	root, dir, overlay string
	all                []Mutant
	mu                 sync.Mutex
	killed             map[string]string // the test that failed, by the mutant's id
}

// suite is a package's test binary.
type suite struct{ folder, binary string }

// finding says which test noticed that a check was removed. The matrix also writes findings without a
// check, for the methods that are done.
type finding struct{ ID, By string }

// matrix runs the tenancy matrix, which removes checks by itself.
func (r *runner) matrix() error {
	if !slices.ContainsFunc(r.all, func(m Mutant) bool { return m.Kind != State }) {
		return nil
	}
	binary, err := r.build("deploy/herald/test/tenancy", "-tags", "mutants")
	if err != nil {
		return err
	}
	return r.each(parallel, func(n int) error {
		switches, err := r.switches(n, 0)
		if err != nil {
			return err
		}
		c := exec.Command(binary, "-test.run", "^TestMutants$", "-test.v", "-test.timeout", "2h")
		c.Dir = filepath.Join(r.root, "deploy/herald/test/tenancy")
		c.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+r.overlay, "MUTANTS="+switches,
			"MUTANTS_DIR="+r.dir, fmt.Sprintf("MUTANTS_SHARD=%d/%d", n, parallel))
		log, err := os.Create(filepath.Join(r.dir, fmt.Sprintf("matrix.%d.log", n)))
		if err != nil {
			return err
		}
		defer log.Close()
		c.Stdout, c.Stderr = log, log
		_ = c.Run() // it fails where it should
		text, err := os.ReadFile(log.Name())
		if err == nil && bytes.Contains(text, []byte("fail with all checks")) {
			err = fmt.Errorf("calls of the matrix fail with all checks: see %s", log.Name())
		}
		return err
	})
}

// tests runs the tests of the package of each check that the matrix did not notice, and of its
// service.
func (r *runner) tests() error {
	if err := r.read("matrix.jsonl"); err != nil {
		return err
	}
	if err := r.read("tests.jsonl"); err != nil {
		return err
	}
	var broken []error
	for rank := 0; ; rank++ {
		wanted := map[string][]Mutant{}
		for _, m := range r.all {
			if m.File == "" || r.killed[m.ID] != "" {
				continue
			}
			folders, err := r.folders(m.File)
			if err != nil {
				return err
			}
			if rank < len(folders) {
				wanted[folders[rank]] = append(wanted[folders[rank]], m)
			}
		}
		if len(wanted) == 0 {
			return errors.Join(broken...)
		}
		next := make(chan string, len(wanted))
		for folder := range wanted {
			next <- folder
		}
		close(next)
		broken = append(broken, r.each(parallel, func(n int) (err error) {
			for folder := range next {
				err = errors.Join(err, r.suite(n, folder, wanted[folder]))
			}
			return err
		}))
	}
}

// suite runs the tests of a package: once with all checks, and then without one at a time of those that
// they reached.
func (r *runner) suite(process int, folder string, all []Mutant) error {
	binary, err := r.build(folder)
	if err != nil {
		return err
	}
	reached, err := r.reached(process, suite{folder, binary})
	if err != nil {
		return err
	}
	for _, m := range all {
		if reached[m.N] != 0 {
			if err := r.kill(process, m, suite{folder, binary}); err != nil {
				return err
			}
		}
	}
	return nil
}

// users are the packages whose tests also notice a change of what services share.
var users = []string{"services/users/internal/store", "services/projects/internal/store", "services/users"}

// folders returns the packages whose tests may notice a change of a file: its own one first, then the
// others of its service.
func (r *runner) folders(file string) ([]string, error) {
	parts := strings.Split(file, "/")
	own, top := filepath.Dir(file), strings.Join(parts[:2], "/")
	all := []string{}
	err := filepath.WalkDir(filepath.Join(r.root, top), func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "_test.go") {
			folder, _ := filepath.Rel(r.root, filepath.Dir(name))
			all = append(all, folder)
		}
		return err
	})
	slices.Sort(all)
	all = slices.Compact(all)
	slices.SortStableFunc(all, func(a, b string) int { return rank(a, own, top) - rank(b, own, top) })
	if strings.HasPrefix(file, "shared/") {
		all = append(all, users...)
	}
	return all, err
}

func rank(folder, own, top string) int {
	switch folder {
	case own:
		return 0
	case top + "/internal/store":
		return 1
	case top + "/internal/api":
		return 2
	case top:
		return 3
	}
	return 4
}

// reached runs the tests of a package with all checks, and returns those that they reached, by number.
func (r *runner) reached(process int, s suite) ([]uint32, error) {
	switches, err := r.switches(process, 0)
	if err != nil {
		return nil, err
	}
	if out, err := r.run(s, switches); err != nil {
		return nil, fmt.Errorf("the tests of %s fail with all checks: %w\n%s", s.folder, err, out)
	}
	cells, err := os.ReadFile(switches)
	if err != nil {
		return nil, err
	}
	reached := make([]uint32, mutant.Cells)
	_, err = binary.Decode(cells, binary.NativeEndian, reached)
	return reached, err
}

var failed = regexp.MustCompile(`--- FAIL: (\S+)`)

// kill runs the tests of a package without a check, and writes down which one fails.
func (r *runner) kill(process int, m Mutant, s suite) error {
	switches, err := r.switches(process, m.N)
	if err != nil {
		return err
	}
	out, err := []byte(nil), error(nil)
	if known := r.noticing(s.folder); known != "" {
		out, err = r.run(s, switches, "-test.run", "^("+known+")$")
	}
	if err == nil {
		if out, err = r.run(s, switches); err == nil {
			return nil
		}
	}
	by := s.folder
	if name := failed.FindSubmatch(out); name != nil {
		by += " " + string(name[1])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed[m.ID] = by
	fmt.Println("killed  ", m.ID, "by", by)
	f, err := os.OpenFile(filepath.Join(r.dir, "tests.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(finding{m.ID, by})
}

// noticing returns the tests of a package that noticed other removals, for a regular expression: they
// probably notice the next one too, and sooner than all tests together.
func (r *runner) noticing(folder string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, by := range r.killed {
		if name, ok := strings.CutPrefix(by, folder+" "); ok {
			name, _, _ = strings.Cut(name, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "|")
}

func (r *runner) run(s suite, switches string, flags ...string) ([]byte, error) {
	c := exec.Command(s.binary, append(flags, "-test.failfast", "-test.timeout", "5m")...)
	c.Dir, c.Env = filepath.Join(r.root, s.folder), append(os.Environ(), "MUTANTS="+switches)
	return c.CombinedOutput()
}

// build builds the tests of a package with all checks behind switches.
func (r *runner) build(folder string, flags ...string) (string, error) {
	out := filepath.Join(r.dir, strings.ReplaceAll(folder, "/", "_")+".test")
	c := exec.Command("go", append([]string{"test", "-c", "-vet=off", "-overlay", r.overlay, "-o", out}, append(flags,
		"./"+folder)...)...)
	c.Dir = r.root
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s: %w\n%s", folder, err, text)
	}
	return out, nil
}

// switches makes a file for the package mutant, in which a check is removed.
func (r *runner) switches(process, removed int) (string, error) {
	cells := make([]uint32, mutant.Cells)
	cells[0] = uint32(removed)
	text, err := binary.Append(nil, binary.NativeEndian, cells)
	if err != nil {
		return "", err
	}
	name := filepath.Join(r.dir, fmt.Sprintf("switches.%d", process))
	return name, os.WriteFile(name, text, 0o666)
}

// read reads what the matrix, or an earlier run, has noticed.
func (r *runner) read(name string) error {
	f, err := os.Open(filepath.Join(r.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var found finding
		if err := json.Unmarshal(lines.Bytes(), &found); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if found.ID != "" {
			r.killed[found.ID] = found.By
		}
	}
	return lines.Err()
}

// each runs processes beside each other.
func (r *runner) each(n int, do func(int) error) error {
	errs := make([]error, n)
	var busy sync.WaitGroup
	for i := range n {
		busy.Go(func() { errs[i] = do(i) })
	}
	busy.Wait()
	return errors.Join(errs...)
}
