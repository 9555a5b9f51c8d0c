//go:build !linux

package local

import "syscall"

// dieWithParent does nothing where the kernel has no such signal: the next start
// ends a server that was left.
func dieWithParent(*syscall.SysProcAttr) {}
