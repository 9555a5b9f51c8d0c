package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"herald/shared/retry"
)

// makeDir creates the directory and makes the account that the server runs as its owner.
func (s *Server) makeDir() error {
	var err error
	if s.account, err = chooseAccount(s.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := s.account.own(d, 0o700); err != nil {
		return fmt.Errorf("take over the directory, which another user has used: %w", err)
	}
	return nil
}

// open opens a file in the directory that only the account may read. It does not follow links, because the account
// owns the directory and this process may run as root.
func (s *Server) open(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, name), flag|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := s.account.own(f, 0o600); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// claim locks the directory for this process. If an earlier process was killed, claim waits until the server of that
// process has ended. Every process that uses the database files inherits the file lock, so the lock is free only when
// the last of them has ended.
func (s *Server) claim(ctx context.Context) error {
	var err error
	if s.parentLock, err = s.lock("parent.lock"); errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another process is using the directory; stop that one first")
	} else if err != nil {
		return err
	}
	return s.claimFiles(ctx)
}

// claimFiles waits until no process uses the database files any more. From then on only processes that this one
// starts use them.
func (s *Server) claimFiles(ctx context.Context) (err error) {
	defer retry.Slow(s.log, "the Postgres of an earlier run ends")(&err)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	begin := time.Now()
	for ends := []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}; ; {
		var err error
		if s.fileLock, err = s.lock("server.lock"); !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		// If the kernel does not end the server together with its parent, it is ended here. A server that writes a
		// checkpoint for too long ends without it, and the next one recovers.
		due := len(ends) == 2 || len(ends) == 1 && time.Since(begin) > lastCheckpoint
		if pid, _ := readPID(s.data()); due && pid > 1 && answers(s.data()) {
			_ = syscall.Kill(pid, ends[0])
			ends = ends[1:]
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("the server of an earlier run does not end: %w", ctx.Err())
		}
	}
}

// lock locks a file. It fails with EWOULDBLOCK if another process has the lock. The kernel releases a lock when its
// process ends, even if the process is killed.
func (s *Server) lock(name string) (*os.File, error) {
	f, err := s.open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// initialize creates the database files if there are none, and reads the password. It creates them under another name
// first, so that no incomplete files remain.
func (s *Server) initialize(ctx context.Context) error {
	if writtenBy(s.data()) != 0 {
		text, err := os.ReadFile(filepath.Join(s.dir, "password"))
		s.password = string(text)
		return err
	}
	s.password = rand.Text()
	if err := s.writePassword(); err != nil {
		return err
	}
	unfinished := s.data() + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	args := []string{
		"--pgdata=" + unfinished, "--username=" + superuser, "--pwfile=" + filepath.Join(s.dir, "password"),
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-instructions", "--no-sync",
	}
	p, err := s.spawn(s.bin.initdb(), args)
	if err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return s.explain("initdb", err)
	}
	if !s.volatile {
		// Under load, one sync takes half the time of the thousand syncs that initdb would do. On Linux it returns
		// when everything is on disk, on other systems it may return earlier.
		syscall.Sync()
	}
	if err := os.Rename(unfinished, s.data()); err != nil {
		return err
	}
	return syncDir(s.dir)
}

func (s *Server) writePassword() error {
	f, err := s.open("password", os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteString(s.password)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// placeSockets chooses the directory of the socket. This is the server's directory. It is a temporary directory if
// the path is too long for an address (104 bytes on BSD and macOS, 108 on Linux) or contains characters that would
// make it a list.
func (s *Server) placeSockets() error {
	if len(s.dir)+len("/.s.PGSQL.65535") < 104 && !strings.ContainsAny(s.dir, `,"`) {
		s.sockets = s.dir
		return nil
	}
	var err error
	if s.sockets, err = os.MkdirTemp("", "herald-pg-"); err != nil {
		return err
	}
	d, err := os.Open(s.sockets)
	if err != nil {
		return err
	}
	defer d.Close()
	return s.account.own(d, 0o700)
}

// readPID returns the server's process id and whether the server accepts connections. It reads both from the lock
// file, from the first and the eighth line.
func readPID(data string) (pid int, ready bool) {
	lines := lockFile(data)
	pid, _ = strconv.Atoi(lines[0])
	return pid, len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"
}

func pidFile(data string) string { return filepath.Join(data, "postmaster.pid") }

// lockFile returns the lines of the server's lock file, at least one.
func lockFile(data string) []string {
	text, _ := os.ReadFile(pidFile(data))
	return strings.Split(string(text), "\n")
}

// answers reports whether the server in the lock file accepts connections. The process id is not enough: after a
// power cut any other process may have the same id.
func answers(data string) bool {
	lines := lockFile(data)
	if len(lines) < 5 {
		return false
	}
	socket := filepath.Join(strings.TrimSpace(lines[4]), ".s.PGSQL."+strings.TrimSpace(lines[3]))
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// forgetServer removes the lock file of a server that was not stopped properly. Otherwise Postgres does not start if
// any process now has the process id in that file. This process has the files' lock, so no other server can run
// unless somebody else started it.
func (s *Server) forgetServer() error {
	if answers(s.data()) {
		return nil // Postgres then refuses to start by itself
	}
	if err := os.Remove(pidFile(s.data())); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
