package local

import "syscall"

// dieWithParent makes the kernel ask the child for a fast shutdown when the thread that started
// it ends, also by kill -9.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
