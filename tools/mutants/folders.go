package main

import (
	"fmt"
	"io/fs"
	"os"
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
	slices.SortStableFunc(all, func(a, b string) int { return r.rank(a, file) - r.rank(b, file) })
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

// rank returns how early the tests of a package are tried for a change of a file. Of the packages of api, the one for
// the subject of the file comes first: for machine_key.go that is machines, and for email.go the one with an email.go.
func (r *runner) rank(folder, file string) int {
	parts := strings.Split(file, "/")
	top := strings.Join(parts[:2], "/")
	subject, _, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".go"), "_")
	_, err := os.Stat(filepath.Join(r.root, folder, path.Base(file)))
	api := strings.HasPrefix(folder+"/", top+"/internal/api/")
	switch {
	case folder == path.Dir(file):
		return 0
	case folder == top+"/internal/store":
		return 1
	case api && (err == nil || strings.HasPrefix(path.Base(folder), subject)):
		return 2
	case api:
		return 3
	case folder == top:
		return 4
	}
	return 5
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
