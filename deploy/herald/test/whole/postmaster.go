package whole

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// SignalPostmaster sends a signal to the first process of the Postgres server in a data directory, and returns its id.
func SignalPostmaster(data string, signal syscall.Signal) (pid int, err error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if pid, err = strconv.Atoi(first); err != nil {
		return 0, err
	}
	return pid, syscall.Kill(pid, signal)
}
