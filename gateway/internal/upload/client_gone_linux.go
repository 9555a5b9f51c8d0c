package upload

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// closed reports whether the other end of a connection has closed it, also while there is more to read.
func closed(c syscall.RawConn) bool {
	var ready int
	err := c.Control(func(fd uintptr) {
		ready, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}, 0)
	})
	return err != nil || ready > 0
}
