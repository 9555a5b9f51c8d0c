package main

import (
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// users are the packages whose tests also notice a change of what services share.
var users = []string{"services/users/internal/store", "services/projects/internal/store",
	"services/users/internal/api/users", "services/users/internal/api/credentials"}

// folders returns the packages whose tests may notice a change of a file, because they contain it: its
// own one first, then the others of its service.
func (r *runner) folders(file string) ([]string, error) {
	parts := strings.Split(file, "/")
	own, top := path.Dir(file), strings.Join(parts[:2], "/")
	all := []string{}
	err := filepath.WalkDir(filepath.Join(r.root, top), func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, "_test.go") {
			folder, _ := filepath.Rel(r.root, filepath.Dir(name))
			all = append(all, folder)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(all)
	all = slices.Compact(all)
	slices.SortStableFunc(all, func(a, b string) int { return rank(a, own, top) - rank(b, own, top) })
	if strings.HasPrefix(file, "shared/") {
		all = append(all, users...)
	}
	var containing []string
	for _, folder := range all {
		contents, err := r.contents(folder)
		if err != nil {
			return nil, err
		}
		if contents["herald/"+own] {
			containing = append(containing, folder)
		}
	}
	return containing, nil
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

// contents returns the import paths of all packages that the tests of a package contain.
func (r *runner) contents(folder string) (map[string]bool, error) {
	if known := r.imports[folder]; known != nil {
		return known, nil
	}
	c := exec.Command("go", "list", "-deps", "-test", "./"+folder)
	c.Dir = r.root
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("list what the tests of %s import: %w", folder, err)
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ") // without the test for which it is built
		all[name] = true
	}
	r.imports[folder] = all
	return all, nil
}
