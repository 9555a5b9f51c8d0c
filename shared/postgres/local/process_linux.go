package local

import "syscall"

// dieWithParent makes the kernel send the child the signal for a fast shutdown when the thread that started it ends.
// This also works if the parent is killed by kill -9.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
