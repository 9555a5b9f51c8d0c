package whole

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	// These imports make go test run the tests again when the binary changes, instead of using cached results.
	_ "herald/deploy/herald/internal/allinone"
	_ "herald/deploy/herald/internal/command"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/testkit"
)

// binary builds the real binary. All test packages share one file, so that it is linked once.
var binary = sync.OnceValues(func() (string, error) {
	root, err := testkit.Root()
	if err != nil {
		return "", err
	}
	file := filepath.Join(root, ".build", "test", "herald")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(file + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	build := exec.Command("go", "build", "-o", file, "./deploy/herald")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, nil
})

// lock waits until no other test package has a file, which it makes.
func lock(file string) (unlock func(), err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

// Root returns the root of the repository.
func Root(t testing.TB) string { return must(t, testkit.Root) }

// Binary returns the path of the real binary. It builds it once.
func Binary(t testing.TB) string { return must(t, binary) }

func must(t testing.TB, what func() (string, error)) string {
	t.Helper()
	path, err := what()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// File reads a file of the repository by its path from the root.
func File(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Dir makes a directory that Postgres's own user can enter. It is removed when the test ends.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "herald-data-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Postgres starts a server that several processes can use.
func Postgres(t testing.TB) *local.Server {
	t.Helper()
	dir := Dir(t) + "/postgres"
	if err := testkit.PostgresFiles(dir); err != nil {
		t.Fatal(err)
	}
	server, err := local.Start(t.Context(), local.Options{
		Dir: dir, Bin: os.Getenv("PG_BIN"), Volatile: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	return server
}

// usedFiles returns a directory with what the binary made at a first start, and no instance uses: its data, and the
// lines for the operator, printed.
func usedFiles(t testing.TB) string {
	t.Helper()
	code, err := os.ReadFile(Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(Binary(t)) // it is not there before the binary
	unlock, err := lock(dir + "/used.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	made := fmt.Sprintf("%s/used-%x", dir, sha256.Sum256(code))
	if _, err := os.Stat(made); err == nil {
		return made
	}
	others, _ := filepath.Glob(dir + "/used-*") // those of other versions, and unfinished ones
	for _, other := range others {
		_ = os.RemoveAll(other)
	}
	i, unfinished := New(t), made+".unfinished"
	i.Start()
	if err := errors.Join(
		i.Stop(syscall.SIGTERM),
		os.Mkdir(unfinished, 0o711),
		os.WriteFile(unfinished+"/printed", []byte(strings.Join(i.Out, "\n")), 0o600),
		testkit.CopyFiles(i.Dir+"/data", unfinished+"/data"),
		os.Rename(unfinished, made),
	); err != nil {
		t.Fatal(err)
	}
	return made
}

// Database connects to a service's database as its superuser.
func Database(t testing.TB, server *local.Server, service string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(server.TCP())
	if err != nil {
		t.Fatal(err)
	}
	config.Database = postgres.Name(service)
	db, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}
