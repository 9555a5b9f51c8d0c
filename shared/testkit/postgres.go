package testkit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"herald/shared/postgres/local"
)

// Root returns the directory of go.work.
var Root = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
	}
	return "", cmp.Or(err, errors.New("there is no go.work above the test"))
})

// PostgresFiles creates the files of a new Postgres server in a directory that does not exist yet. They are the files
// that local.Start creates. Only the first test creates them, which takes almost a second of CPU time. Later tests
// copy them, which is fast.
func PostgresFiles(dir string) error {
	made, err := postgresFiles()
	if err != nil {
		return fmt.Errorf("the files of a new Postgres server: %w", err)
	}
	return CopyFiles(made, dir)
}

// postgresFiles returns the directory of files that no server uses. Its name changes with the version of Postgres and
// with the code that creates the files.
var postgresFiles = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	version, err := local.Version(ctx, os.Getenv("PG_BIN"))
	if err != nil {
		return "", err
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	sources, err := filepath.Glob(filepath.Join(root, "shared/postgres/local/*.go"))
	if err != nil {
		return "", err
	}
	code := sha256.New()
	for _, file := range sources {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		code.Write(text)
	}
	made := filepath.Join(root, ".build", "test", fmt.Sprintf("postgres-%d-%x", version, code.Sum(nil)[:4]))
	if _, err := os.Stat(made); err == nil {
		return made, nil
	}
	return made, makeFiles(ctx, made)
})

// makeFiles starts and stops a server and moves its files to a directory. If several processes do this at the same
// time, the files of the first one stay.
func makeFiles(ctx context.Context, made string) error {
	dir, err := os.MkdirTemp("", "herald-test-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o711); err != nil { // Postgres runs as another user
		return err
	}
	server, err := local.Start(ctx, local.Options{Dir: dir + "/postgres", Bin: os.Getenv("PG_BIN"), Volatile: true})
	if err != nil {
		return err
	}
	if err := server.Stop(ctx); err != nil {
		return err
	}
	unfinished := fmt.Sprintf("%s.%d", made, os.Getpid())
	defer func() { _ = os.RemoveAll(unfinished) }()
	if err := os.MkdirAll(filepath.Dir(made), 0o755); err != nil {
		return err
	}
	if err := CopyFiles(dir+"/postgres", unfinished); err != nil {
		return err
	}
	if err := os.Rename(unfinished, made); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// CopyFiles copies a directory with its modes and owners.
func CopyFiles(from, to string) error {
	if out, err := exec.Command("cp", "-pR", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}
