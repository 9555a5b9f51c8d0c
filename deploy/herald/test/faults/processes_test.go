package faults_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// A process per service works like one process. No request fails when a replica is stopped for an
// upgrade.
func TestProcesses(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	p := whole.NewProcesses(t, server.URL())
	first := p.StartAll()
	p.Import("u0")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := server.Wait(ctx, 1); err != nil {
		t.Error(err)
	}

	var failed, done atomic.Int64
	stopped := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stopped:
					return
				default:
				}
				if status, answer, err := p.Try("GET", "/management/v1/users/u0", ""); err != nil ||
					status != http.StatusOK {
					failed.Add(1)
					t.Errorf("%d %v %v", status, answer, err)
					return
				}
				done.Add(1)
			}
		})
	}
	for range 3 {
		second := p.Start("users")
		_ = first.Process.Signal(syscall.SIGTERM)
		if err := first.Wait(); err != nil {
			t.Errorf("the replica ended with %v", err)
		}
		first = second
	}
	close(stopped)
	callers.Wait()
	t.Logf("%d requests during three rolling restarts, %d failed", done.Load(), failed.Load())
	if done.Load() == 0 {
		t.Error("no request was made")
	}
}
