// Command mutants removes each check of the system, one after the other, and proves that a test fails
// without it: the permission, acts_on, fresh_login and not_for_apps of each method, the owner in each query, and each
// comparison of a state. It finds the checks in the contracts and in the sources. One build has all of
// them, each behind a switch; the repository and the programs that it makes stay as they are.
//
//	mutants [-only REGEXP] [-resume]
//
// It runs in the repository's folder, with go.work.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"herald/shared/contract"
	_ "herald/shared/gen/herald/auth/v1" // all contracts; a test says which is missing
	_ "herald/shared/gen/herald/idp/v1"
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/projects/v1"
	_ "herald/shared/gen/herald/text/v1"
	_ "herald/shared/gen/herald/users/v1"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	only := flag.String("only", "", "remove only the checks whose line in the list matches")
	resume := flag.Bool("resume", false, "keep what the last run found")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	methods, err := contract.AllMethods()
	if err != nil {
		return err
	}
	f := &finder{edits: map[string][]edit{}, seen: map[string]int{}}
	f.contracts(methods)
	if err := f.sources(root); err != nil {
		return err
	}
	r := &runner{
		root: root, dir: filepath.Join(root, ".build", "mutants"), all: f.mutants,
		suites: map[string]*suite{}, imports: map[string]map[string]bool{}, killed: map[string]string{},
	}
	r.all = slices.DeleteFunc(r.all, func(m Mutant) bool { return !chosen.MatchString(m.ID) })
	if len(r.all) == 0 {
		return fmt.Errorf("-only %q selects none of %d checks: a run without -only lists them", *only, len(f.mutants))
	}
	if err := r.prepare(f, *resume); err != nil {
		return err
	}
	if err := r.matrix(); err != nil {
		return err
	}
	return errors.Join(r.tests(), r.report())
}

// prepare writes the list and the overlay, and builds the tests.
func (r *runner) prepare(f *finder, resume bool) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	if !resume {
		for _, name := range []string{"matrix.jsonl", "tests.jsonl"} {
			if err := os.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	list, err := json.MarshalIndent(r.all, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "mutants.json"), list, 0o644); err != nil {
		return err
	}
	r.overlay, err = overlaid(r.root, r.dir, f)
	return err
}

// report prints the list, and fails if a check can be removed unnoticed.
func (r *runner) report() error {
	killed, survived, same := map[string]int{}, 0, 0
	for _, m := range r.all {
		by, why := r.killed[m.ID], equivalent[m.ID]
		switch {
		case by != "" && why != "":
			fmt.Println("noticed, so not equivalent:", m.ID, "by", by)
			survived++
		case by != "":
			fmt.Println("killed  ", m.ID, "by", by)
			killed[m.Kind]++
		case why != "":
			fmt.Println("the same", m.ID, "because", why)
			same++
		default:
			fmt.Println("SURVIVED", m.ID)
			survived++
		}
	}
	fmt.Printf("%d checks, killed %v, %d equivalent, %d survived\n", len(r.all), killed, same, survived)
	if survived > 0 {
		return fmt.Errorf("no test fails without %d checks", survived)
	}
	return nil
}
