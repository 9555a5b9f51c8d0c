//go:build !linux

package local

import "syscall"

// dieWithParent does nothing, because this kernel has no such signal. If the server still runs at the next start,
// that start ends it.
func dieWithParent(*syscall.SysProcAttr) {}
