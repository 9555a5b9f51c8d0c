package secret_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"herald/shared/secret"
)

// holds fails the test unless the file has that text and mode and is the only one in its folder.
func holds(t *testing.T, file, text string, mode fs.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != mode {
		t.Fatalf("%v, %v", info, err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReplaceFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	for _, c := range []struct {
		text string
		mode fs.FileMode
	}{
		{"a longer text", 0o644},
		{"a text", 0o600}, // shorter and of another mode
		{"a text", 0o444}, // a read-only file is replaced too
		{"", 0o600},
	} {
		if err := secret.ReplaceFile(file, c.text, c.mode); err != nil {
			t.Fatal(err)
		}
		holds(t, file, c.text, c.mode)
	}
}

// A failed ReplaceFile leaves the folder as it was.
func TestReplaceFileFailsWithoutTraces(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	held := filepath.Join(folder, "held")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := secret.ReplaceFile(held, "text", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{folder, filepath.Join(folder, "missing", "key")} {
		if err := secret.ReplaceFile(file, "secret", 0o600); err == nil {
			t.Errorf("%s was written", file)
		}
	}
	holds(t, held, "text", 0o600)
	if entries, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(entries) != 1 {
		t.Errorf("something stays beside the folder: %v, %v", entries, err)
	}
}

func TestRenameFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "key")
	if err := secret.RenameFile(file+".new", file); err == nil {
		t.Error("nothing was renamed")
	}
	for _, text := range []string{"first", "second"} {
		if err := secret.ReplaceFile(file+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := secret.RenameFile(file+".new", file); err != nil {
			t.Fatal(err)
		}
		holds(t, file, text, 0o600)
	}
}
