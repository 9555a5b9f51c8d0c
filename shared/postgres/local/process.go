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
)

// process is a child process that ends with its parent.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended, and err is set
	err  error
}

// spawn starts a program that writes into the log, which it empties first.
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
		// Linux ends the child when the thread that started it ends.
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

// wait returns when the process has ended by itself or was killed because the context ended.
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
func (s *Server) launch(ctx context.Context) error {
	if err := s.forgetServer(); err != nil {
		return err
	}
	started, err := s.spawn(s.bin.postgres(), s.arguments())
	if err != nil {
		return err // Stop still needs the process of before
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

// arguments returns all settings. They are not in a file, so that a newer Herald changes them for
// existing databases too.
func (s *Server) arguments() []string {
	settings := []string{
		"listen_addresses=" + loopback, "port=" + strconv.Itoa(s.port),
		"unix_socket_directories=" + s.sockets, "unix_socket_permissions=0700",
		"max_connections=120", "shared_buffers=64MB", "jit=off",
		// Logged statements may contain personal data. Our own log has their errors.
		"log_min_messages=log", "log_checkpoints=off",
	}
	if s.volatile {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off",
			"autovacuum=off") // of the many databases of short tests
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
