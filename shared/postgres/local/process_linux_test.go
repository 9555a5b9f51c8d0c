package local

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestServerEndsWithItsKilledParent(t *testing.T) {
	t.Parallel()
	dir := place(t)
	parent, _ := child(t, dir)
	files, err := os.Open(filepath.Join(dir, "server.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if err := syscall.Flock(int(files.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Fatalf("a running server does not hold its lock: %v", err)
	}
	parent.Process.Kill()
	ended := make(chan error, 1)
	go func() { ended <- syscall.Flock(int(files.Fd()), syscall.LOCK_SH) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the server runs on without its parent")
	}
}
