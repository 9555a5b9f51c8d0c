package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Address returns what TCP returned for the server that runs in dir, which another process has
// started.
func Address(dir string) (string, error) {
	s := Server{dir: dir}
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return "", fmt.Errorf("no Postgres is running in %s: %w", dir, err)
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) > 3 {
		s.port, err = strconv.Atoi(strings.TrimSpace(lines[3])) // of the data directory's lock file
	}
	if s.port == 0 || err != nil {
		return "", fmt.Errorf("the Postgres in %s is not ready", dir)
	}
	password, err := os.ReadFile(filepath.Join(dir, "password"))
	s.password = string(password)
	return s.TCP(), err
}
