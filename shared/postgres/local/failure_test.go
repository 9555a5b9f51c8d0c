package local

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func mention(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

// child runs the test program as a process that starts a server in dir. It returns the server's
// URL when the server is up.
func child(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(url)
}

func TestKilledParentLosesNothing(t *testing.T) {
	t.Parallel()
	dir := place(t)
	parent, url := child(t, dir)
	execute(t, url, "create table kept as select 'a row' as value")
	parent.Process.Kill()
	parent.Wait()

	s := start(t, Options{Dir: dir})
	if got := query(t, s.URL(), "select value from kept"); got != "a row" {
		t.Errorf("read %q", got)
	}
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		conn.Close(t.Context())
		t.Error("the killed parent's server is still there")
	}
}

// Outside Linux a server runs on after its parent was killed, until the next start. The test
// gives up the parent's locks, as the end of a process does; the server keeps its own.
func TestOrphanIsEnded(t *testing.T) {
	t.Parallel()
	dir := place(t)
	first := start(t, Options{Dir: dir})
	first.parentLock.Close()
	first.fileLock.Close()
	second := start(t, Options{Dir: dir})
	select {
	case <-first.process.done:
	case <-time.After(time.Minute):
		t.Error("the first server is still there")
	}
	query(t, second.URL(), "select 'reached'")
}

func TestIncompleteFilesAreMadeAgain(t *testing.T) {
	t.Parallel()
	dir := place(t)
	half := filepath.Join(dir, "data.new", "base")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Dir: dir, Volatile: true})
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", half, err)
	}
	query(t, s.URL(), "select 'reached'")
}

func TestClosedDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	closed := filepath.Dir(place(t))
	dir := filepath.Join(closed, "inner", "pg")
	if err := os.Chmod(closed, 0o600); err != nil { // closed to everybody but root
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir, Bin: os.Getenv("PG_BIN")})
	mention(t, err, closed)
	if os.Geteuid() == 0 {
		mention(t, err, "cannot enter "+closed+": `chmod a+x "+closed+"`")
	}
}

func TestMissingBinariesAreNamed(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	_, err := Start(t.Context(), Options{Dir: place(t), Bin: bin})
	mention(t, err, bin+" lacks initdb or postgres", "install postgresql", "PG_BIN")
}

func TestOldBinariesAreRefused(t *testing.T) {
	t.Parallel()
	bin := filepath.Dir(place(t))
	for _, name := range []string{"initdb", "postgres"} {
		script := "#!/bin/sh\necho 'postgres (PostgreSQL) 9.6.24'\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Start(t.Context(), Options{Dir: place(t), Bin: bin})
	mention(t, err, "has version 9, 15 or later is needed", "install postgresql")
}

func TestFilesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	dir := place(t)
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: dir, Bin: os.Getenv("PG_BIN")})
	mention(t, err, "the data is of version 99", "99`")
}

func TestErrorQuotesTheServersLog(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: place(t), Volatile: true})
	stop(t, s)
	if err := os.Remove(filepath.Join(s.data(), "global", "pg_control")); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{Dir: s.dir, Bin: os.Getenv("PG_BIN")})
	mention(t, err, "pg_control", filepath.Join(s.dir, "log"))
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &Server{dir: place(t)}
	err := s.start(ctx, Options{Bin: os.Getenv("PG_BIN")}, func() (int, error) {
		cancel()
		return freePort()
	})
	// The server may also be ready before the context's end is noticed.
	if err == nil {
		stop(t, s)
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.release()
	start(t, Options{Dir: s.dir, Volatile: true})
}
