package faults_test

import (
	"flag"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// soakFor is how long BenchmarkSoak lasts.
var soakFor = flag.Duration("soak", 4*time.Minute, "how long BenchmarkSoak lasts")

const (
	// soakRate is how many requests a second it sends: a quarter are writes.
	soakRate = 240
	// sample is how often it looks at the memory.
	sample = 5 * time.Second
	// growth is how much the memory may grow in the second half.
	growth = 1.1
)

// BenchmarkSoak sends `herald run` requests at a steady rate. In the second half its memory grows by less than a
// tenth. It is a benchmark because a short form would show nothing: caches and pools fill first. The import fills those
// of NATS for the part of the stream that it writes, 8 MiB.
func BenchmarkSoak(b *testing.B) {
	i := whole.Start(b, "HERALD_SMTP_URL="+outside.StartMailServer(b, outside.MailConfig{}).URL())
	p := &whole.Processes{Instance: i}
	i.Must(http.MethodPost, "/admin/v1/import", newCrowd("first", 12000).body)
	clients := newClients(p, 8)
	over := make(chan struct{})
	turns := make(chan struct{})
	var failed, done atomic.Int64
	var busy sync.WaitGroup
	for _, l := range clients {
		busy.Go(func() {
			for n := 0; ; n++ {
				if _, more := <-turns; !more {
					return
				}
				writes := 0
				if n%4 == 0 {
					writes = 1
				}
				if status, answer, err := l.send(p, writes); err != nil || status != http.StatusOK {
					failed.Add(1)
					b.Errorf("%s: %d %v %v", l.name, status, answer, err)
				}
				done.Add(1)
			}
		})
	}
	time.AfterFunc(*soakFor, func() { close(over) })
	pace, look := time.NewTicker(time.Second/soakRate), time.NewTicker(sample)
	defer pace.Stop()
	defer look.Stop()
	var memory []int
	for !closed(over) {
		select {
		case <-pace.C:
			select {
			case turns <- struct{}{}:
			case <-over:
			}
		case <-look.C:
			memory = append(memory, resident(b, i))
		}
	}
	close(turns)
	busy.Wait()
	half, last := highest(memory[:len(memory)/2]), highest(memory)
	b.Logf("%d requests in %s, %d failed; %d MiB in the first half, %d MiB at the end: %v", done.Load(), *soakFor,
		failed.Load(), half>>10, last>>10, memory)
	if float64(last) > growth*float64(half) {
		b.Errorf("the memory grew from %d to %d KiB", half, last)
	}
}

// highest returns the most memory of the last half minute.
func highest(memory []int) int {
	return slices.Max(memory[max(0, len(memory)-int(30*time.Second/sample)):])
}

// resident returns how many KiB of memory the process of an instance has.
func resident(b *testing.B, i *whole.Instance) int {
	b.Helper()
	out, err := exec.Command("ps", "-o", "rss=", "-p", fmt.Sprint(i.Cmd.Process.Pid)).Output()
	if err != nil {
		b.Fatal(err)
	}
	kib, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		b.Fatal(err)
	}
	return kib
}
