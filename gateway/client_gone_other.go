//go:build !linux

package gateway

import "syscall"

// closed returns false, because other kernels do not tell while there is more to read.
func closed(syscall.RawConn) bool { return false }
