//go:build !linux

package upload

import "syscall"

// closed returns false, because other kernels do not report it while there is more to read.
func closed(syscall.RawConn) bool { return false }
