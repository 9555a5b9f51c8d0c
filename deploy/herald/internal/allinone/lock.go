package allinone

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// InUse is returned when another process has the data directory. Nothing in it was changed.
type InUse struct {
	// Dir is the data directory.
	Dir string
	// Owner is the other process's id and since when it runs, or empty if it has just begun.
	Owner string
}

// Error says which process has the directory.
func (e *InUse) Error() string {
	owner := "another process has it"
	if e.Owner != "" {
		owner = "process " + e.Owner
	}
	return fmt.Sprintf("HERALD_DATA_DIR: %s: %s: stop that `herald run` first", e.Dir, owner)
}

// ExitStatus is the exit code of `herald run` then.
func (*InUse) ExitStatus() int { return 3 }

// claim makes the data directory if there is none, and locks it until the file that it returns is closed. The kernel
// ends the lock of a process that is killed.
func claim(dir string, now time.Time) (*os.File, error) {
	// Postgres may run as another user, who must be able to enter; other users cannot read the files.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("HERALD_DATA_DIR: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "run.lock"), os.O_RDWR|os.O_CREATE, secretMode)
	if err != nil {
		return nil, fmt.Errorf("HERALD_DATA_DIR: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		owner, _ := io.ReadAll(io.LimitReader(f, 100))
		f.Close()
		return nil, &InUse{dir, strings.TrimSpace(string(owner))}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d has it since %s\n", os.Getpid(), now.UTC().Format(time.RFC3339))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock HERALD_DATA_DIR: %w", err)
	}
	return f, nil
}
