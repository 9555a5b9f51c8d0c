package boot

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// Room returns how many bytes are free on the disk of a directory for programs without special rights. The directory
// need not be there yet.
func Room(dir string) (int64, error) {
	var s syscall.Statfs_t
	err, there := syscall.Statfs(dir, &s), dir
	for errors.Is(err, syscall.ENOENT) && there != filepath.Dir(there) {
		there = filepath.Dir(there)
		err = syscall.Statfs(there, &s)
	}
	if err != nil {
		return 0, fmt.Errorf("free space on the disk of %s: %w", dir, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // the types differ among systems
}
