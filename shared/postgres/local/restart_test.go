package local

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The old server's processes may live for a moment longer than it.
func TestKilledServerStartsAgain(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: place(t)})
	execute(t, s.URL(), "create table kept as select 'a row' as value")
	for range 3 {
		s.process.signal(syscall.SIGKILL)
		mention(t, s.Wait(t.Context()), "the server has ended", "killed", s.dir)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{s.URL(), s.TCP()} {
			if got := query(t, url, "select value from kept"); got != "a row" {
				t.Errorf("read %q", got)
			}
		}
	}
	s.process.signal(syscall.SIGKILL)
	mention(t, s.Wait(t.Context()), "killed")
	s.bin = binaries{dir: t.TempDir()}
	mention(t, s.Restart(t.Context()), "again", s.dir)
	stop(t, s)
	s = start(t, Options{Dir: s.dir})
	s.process.signal(syscall.SIGTERM)
	mention(t, s.Wait(t.Context()), "exit status 0", "database system is shut down")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(over); err != nil {
		t.Errorf("a server that runs has ended: %v", err)
	}
}

// After a power cut the id of the old server's process may be that of another process of the same user.
func TestProcessOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: place(t)})
	execute(t, s.URL(), "create table kept as select 'a row' as value")
	left := strings.Join(lockFile(s.data()), "\n")
	pid := strconv.Itoa(s.process.cmd.Process.Pid)
	stop(t, s)
	other := s.account.command(t.Context(), "/", "sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- other.Wait() }()
	left = strings.Replace(left, pid, strconv.Itoa(other.Process.Pid), 1)
	if err := os.WriteFile(s.data()+"/postmaster.pid", []byte(left), 0o644); err != nil {
		t.Fatal(err)
	}
	again := start(t, Options{Dir: s.dir})
	if got := query(t, again.URL(), "select value from kept"); got != "a row" {
		t.Errorf("read %q", got)
	}
	select {
	case err := <-ended:
		t.Errorf("the other process was ended: %v", err)
	default:
	}
}

// A server that somebody has started by hand on the same files is left alone.
func TestServerOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: place(t)})
	s.release() // of the locks: it is not ours any more
	own, err := s.lock("server.lock")
	if err == nil {
		own.Close()
		t.Fatal("the server has lost its lock")
	}
	if !answers(s.data()) {
		t.Error("a running server does not answer")
	}
	if err := s.forgetServer(); err != nil {
		t.Fatal(err)
	}
	if pid, _ := readPID(s.data()); pid != s.process.cmd.Process.Pid {
		t.Error("the lock file of a running server is gone")
	}
	stop(t, s)
	if answers(s.data()) {
		t.Error("a stopped server answers")
	}
}
