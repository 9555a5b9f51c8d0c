package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The tests of the subject of a changed file come before those of other subjects.
func TestTestsOfTheSubjectComeFirst(t *testing.T) {
	t.Parallel()
	const api = "services/users/internal/api/"
	root := t.TempDir()
	for _, file := range []string{"credentials/email.go", "machines/machines.go"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, api, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, api, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &runner{root: root}
	for file, want := range map[string][]string{
		"domain/email.go": {"services/users/internal/domain", "services/users/internal/store",
			api + "credentials", api + "machines", "services/users", "services/users/internal/start"},
		"store/machine_key.go": {"services/users/internal/store", api + "machines", api + "credentials",
			"services/users", "services/users/internal/domain", "services/users/internal/start"},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			folders := slices.Sorted(slices.Values(want))
			slices.SortStableFunc(folders, func(a, b string) int {
				return r.rank(a, "services/users/internal/"+file) - r.rank(b, "services/users/internal/"+file)
			})
			if !slices.Equal(folders, want) {
				t.Errorf("%q, want %q", folders, want)
			}
		})
	}
}
