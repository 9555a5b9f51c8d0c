package upload

import (
	"context"
	"net"
	"syscall"
	"time"
)

// watchInterval is the time between two checks whether the client is still connected.
const watchInterval = 200 * time.Millisecond

// watchClient calls gone if the client closes its connection before ctx ends. It is needed because net/http notices
// that only after it has read the whole body, and an import reads its body slowly.
func watchClient(ctx context.Context, conn net.Conn, gone func()) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	go func() {
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if closed(raw) {
					gone()
					return
				}
			}
		}
	}()
}
