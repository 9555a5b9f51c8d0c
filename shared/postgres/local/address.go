package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Address returns the TCP address of the server that another process has started in dir. It is the same as the result
// of that server's method TCP.
func Address(dir string) (string, error) {
	s := Server{dir: dir}
	if _, err := os.Stat(pidFile(s.data())); err != nil {
		return "", fmt.Errorf("no Postgres is running in %s: %w", dir, err)
	}
	lines := lockFile(s.data())
	if len(lines) > 3 {
		s.port, _ = strconv.Atoi(strings.TrimSpace(lines[3]))
	}
	if s.port == 0 || !answers(s.data()) {
		return "", fmt.Errorf("the Postgres in %s does not answer", dir)
	}
	password, err := os.ReadFile(filepath.Join(dir, "password"))
	s.password = string(password)
	return s.TCP(), err
}
