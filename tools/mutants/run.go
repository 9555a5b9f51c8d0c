package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"herald/tools/mutants/mutant"
)

// parallel is the number of processes that run tests.
const parallel = 2

// runner removes checks and runs tests without them.
type runner struct {
	root, dir, overlay string
	all                []Mutant
	suites             map[string]*suite          // by folder
	imports            map[string]map[string]bool // by folder
	mu                 sync.Mutex
	killed             map[string]string // the test that failed, by the mutant's id
}

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
	return each(func(n int) error {
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
	return r.file(process), os.WriteFile(r.file(process), text, 0o666)
}

func (r *runner) file(process int) string {
	return filepath.Join(r.dir, fmt.Sprintf("switches.%d", process))
}

// reached returns the numbers of the checks that were reached since the last switches of a process.
func (r *runner) reached(process int) (all []int, err error) {
	b, err := os.ReadFile(r.file(process))
	if err != nil {
		return nil, err
	}
	cells := make([]uint32, mutant.Cells)
	if _, err := binary.Decode(b, binary.NativeEndian, cells); err != nil {
		return nil, err
	}
	for n, was := range cells {
		if n > 0 && was != 0 {
			all = append(all, n)
		}
	}
	return all, nil
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

// each calls do for all processes at once.
func each(do func(process int) error) error {
	errs := make([]error, parallel)
	var busy sync.WaitGroup
	for i := range parallel {
		busy.Go(func() { errs[i] = do(i) })
	}
	busy.Wait()
	return errors.Join(errs...)
}

// spread calls do for every item, each in the next process that is free.
func spread[T any](items []T, do func(process int, item T) error) error {
	next := make(chan T, len(items))
	for _, item := range items {
		next <- item
	}
	close(next)
	return each(func(process int) (err error) {
		for item := range next {
			err = errors.Join(err, do(process, item))
		}
		return err
	})
}
