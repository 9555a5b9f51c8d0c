package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"herald/shared/retry"
)

// process is a child process that ends with its parent.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and err is set
	err  error
}

// spawn starts a program that writes into the log. It empties the log first.
func (s *Server) spawn(program string, args []string) (*process, error) {
	log, err := s.open("log", os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := s.account.command(context.Background(), s.dir, program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{s.fileLock}
	dieWithParent(cmd.SysProcAttr)

	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux ends the child when the thread that started it ends, so this thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

func (p *process) signal(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig) // fails only when the process has ended
}

// wait waits for the end of the process. If the context ends first, wait stops the process.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		p.signal(syscall.SIGINT)
		<-p.done
		return ctx.Err()
	}
}

// launch starts the server and waits until it accepts connections.
func (s *Server) launch(ctx context.Context) (err error) {
	defer retry.Slow(s.log, "Postgres accepts connections, which it does after recovery")(&err)
	if err := s.forgetServer(); err != nil {
		return err
	}
	started, err := s.spawn(s.bin.postgres(), s.arguments())
	if err != nil {
		return err // Stop still needs the earlier process
	}
	s.process = started
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		if pid, ready := readPID(s.data()); ready && pid == s.process.cmd.Process.Pid {
			return nil
		}
		select {
		case <-again.C:
		case <-s.process.done:
			return s.explain("the server", s.process.err)
		case <-ctx.Done():
			s.kill()
			return s.explain("the server is not ready", ctx.Err())
		}
	}
}

// arguments returns all settings of the server. They are not in a file, so that a newer Herald can also change them
// for existing databases.
func (s *Server) arguments() []string {
	settings := []string{
		"listen_addresses=" + loopback, "port=" + strconv.Itoa(s.port),
		"unix_socket_directories=" + s.sockets, "unix_socket_permissions=0700",
		"max_connections=120", "shared_buffers=64MB", "jit=off",
		// Logged statements may contain personal data. Herald logs their errors itself.
		"log_min_messages=log", "log_checkpoints=off",
	}
	if runtime.GOOS == "linux" {
		// After a kill, one sync of the file system instead of one for each of the thousands of files, which takes
		// minutes on a busy disk.
		settings = append(settings, "recovery_init_sync_method=syncfs")
	}
	if s.volatile {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off",
			"autovacuum=off") // useless for the many databases of short tests
	}
	args := []string{"-D", s.data()}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// explain adds the end of the server's log to an error.
func (s *Server) explain(what string, err error) error {
	path := filepath.Join(s.dir, "log")
	text, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-4):]
	return fmt.Errorf("%s: %w: %s (more in %s)", what, err, strings.Join(lines, " | "), path)
}
