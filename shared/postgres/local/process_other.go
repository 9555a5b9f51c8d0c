//go:build !linux

package local

import "syscall"

// dieWithParent does nothing, because the kernel has no such signal. The next start ends a server
// that still runs.
func dieWithParent(*syscall.SysProcAttr) {}
