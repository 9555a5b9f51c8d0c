package faults_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// While NATS is frozen, its connections stay open for some seconds. The services and the gateway say at once that they
// are not ready, each for this one reason, and are ready again afterwards.
func TestFrozenNATSIsNamed(t *testing.T) {
	t.Parallel()
	p := whole.NewProcesses(t, "smtp://127.0.0.1:1")
	p.StartNATS()
	p.StartAll()
	if causes := p.Unready(); len(causes) > 0 {
		t.Fatalf("not ready before because of %s", causes)
	}
	p.Signal("nats", syscall.SIGSTOP)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var causes []string
	for end := time.Now().Add(20 * time.Second); len(causes) < 7; <-tick.C { // a signal is not obeyed at once
		if causes = p.Unready(); time.Now().After(end) {
			t.Fatalf("only %d processes are not ready after 20 s", len(causes))
		}
	}
	p.Signal("nats", syscall.SIGCONT)
	for _, cause := range causes {
		if strings.Count(cause, `":"`) != 1 || !strings.Contains(cause, "NATS does not answer") {
			t.Errorf("not ready because of %s", cause)
		}
	}
	for end := time.Now().Add(20 * time.Second); len(p.Unready()) > 0; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not ready after 20 s because of %s", p.Unready())
		}
	}
}
