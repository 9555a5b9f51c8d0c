package faults_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// The streams are lost in the middle of a load. The services publish all events again, and every user gets one mail.
func TestStreamsLostUnderImport(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	p := whole.NewProcesses(t, server.URL())
	p.StartNATS()
	p.StartAll()
	size := 2000
	if *kills > 0 {
		size = 50_000
	}
	before, during := newCrowd("before", size), newCrowd("during", size)
	before.everybody(t, taken(t, p, before))
	p.Kill("nats")
	if err := os.RemoveAll(p.Dir + "/nats"); err != nil {
		t.Fatal(err)
	}
	p.StartNATS()
	began := time.Now()
	during.everybody(t, taken(t, p, during))
	all := map[string]bool{}
	for _, c := range []crowd{before, during} {
		for id := range c.mailed {
			all[id] = true
		}
	}
	oneMailEach(t, server, all, 0)
	took := time.Since(began)
	t.Logf("%d events, %d mails, the last %s after the loss", 2*size, len(all), took.Round(time.Millisecond))
	if took > time.Minute {
		t.Errorf("the last mail came only %s after the loss", took)
	}
}

// wounds are what happens to files of the stream while NATS is down.
var wounds = []struct {
	name string
	do   func(file *os.File, size int64) error
}{
	{"bytes flipped", func(f *os.File, size int64) error {
		b, at := make([]byte, min(16, size)), rand.Int64N(max(1, size-16))
		if _, err := f.ReadAt(b, at); err != nil {
			return err
		}
		for i := range b {
			b[i] ^= 0xff
		}
		_, err := f.WriteAt(b, at)
		return err
	}},
	{"shortened", func(f *os.File, size int64) error { return f.Truncate(rand.Int64N(max(1, size))) }},
	{"deleted", func(f *os.File, _ int64) error { return os.Remove(f.Name()) }},
}

// places are the files below the directory of the stream that are damaged, by patterns.
var places = []struct {
	pattern string
	// written reports that NATS writes the file only when it is stopped, and not when it is killed.
	written bool
	// lossOnly reports that only the loss of the file is mended.
	lossOnly bool
	// once reports that NATS does not write the file again when it is lost.
	once bool
}{
	{pattern: "msgs/*.blk"},
	{pattern: "msgs/index.db", written: true},
	{pattern: "meta.inf"},
	{pattern: "meta.sum", once: true},
	{pattern: "obs/*/meta.inf"},
	{pattern: "obs/*/o.dat", lossOnly: true},
}

// injury is a wound of a file, after NATS was stopped or killed.
type injury struct {
	place, wound int
	stopped      bool
}

// loses reports whether the stream must have lost events.
func (i injury) loses() bool {
	return places[i.place].pattern == "msgs/*.blk" && wounds[i.wound].name == "deleted"
}

// injuries returns each possible injury once. Those that follow each other differ in all respects. A loss that stays is
// the last one.
func injuries() []injury {
	var all, last []injury
	for n := range len(places) * len(wounds) * 2 {
		turn := n / len(places)
		i := injury{place: n % len(places), wound: turn % len(wounds), stopped: turn < len(wounds)}
		deleted := wounds[i.wound].name == "deleted"
		if places[i.place].written && !i.stopped || places[i.place].lossOnly && !deleted {
			continue
		}
		if places[i.place].once && deleted {
			last = []injury{i}
			continue
		}
		all = append(all, i)
	}
	const step = 11
	mixed := make([]injury, len(all))
	for n := range all {
		mixed[n] = all[(len(all)-1+n*step)%len(all)]
	}
	return append(mixed, last...)
}

// inflict damages a file, chosen among those of the place with a content, in the directory of NATS.
func (i injury) inflict(t *testing.T, dir string) (what string) {
	t.Helper()
	pattern := places[i.place].pattern
	files, err := filepath.Glob(dir + "/jetstream/*/streams/EVENTS/" + pattern)
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(name string) bool {
		info, err := os.Stat(name)
		return err != nil || info.Size() == 0
	})
	if len(files) == 0 {
		t.Fatalf("no %s, stopped: %t", pattern, i.stopped)
	}
	name := files[rand.IntN(len(files))]
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = wounds[i.wound].do(f, info.Size())
	}
	if err != nil {
		t.Fatal(err)
	}
	short, _ := filepath.Rel(dir+"/jetstream", name)
	return fmt.Sprintf("%s of %d bytes %s, stopped: %t", short, info.Size(), wounds[i.wound].name, i.stopped)
}

// rebuilds is what the logs of all services say of lost events.
type rebuilds struct {
	begun, ended, events int
}

func rebuiltBy(logs map[string]*testkit.Lines) (r rebuilds) {
	for _, log := range logs {
		for text := range strings.Lines(log.String()) {
			var line struct {
				Msg    string
				Events int
			}
			if json.Unmarshal([]byte(text), &line) != nil {
				continue
			}
			switch {
			case strings.HasPrefix(line.Msg, "the stream of events has lost some"):
				r.begun, r.events = r.begun+1, r.events+line.Events
			case strings.HasPrefix(line.Msg, "the stream of events has all of this service again"):
				r.ended++
			}
		}
	}
	return r
}

// watchReadiness returns what ends the watch and says whether a service was not ready because of lost events.
func watchReadiness(p *whole.Processes) (end func() (red bool)) {
	over, said := make(chan struct{}), make(chan bool)
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		red := false
		for ; !closed(over); <-tick.C {
			red = red || strings.Contains(fmt.Sprint(p.Unready()), "which are published again")
		}
		said <- red
	}()
	return func() bool { close(over); return <-said }
}

// manyLost is how many lost events cannot be published between two looks at readiness.
const manyLost = 5000

// Files of the stream are damaged in the middle of a load, in every way, while NATS is stopped or killed. Each time,
// within 30 s after NATS is back, everybody has one mail, all lost events are published again, and all services are
// ready. They were not ready before that, and their logs say how many events they had lost.
func TestStreamDamagedUnderImport(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	p := whole.NewProcesses(t, server.URL())
	p.StartNATS()
	p.StartAll()
	size := 1000
	if *kills > 0 {
		size = 20_000 // several blocks
	}
	first := newCrowd("first", size)
	first.everybody(t, taken(t, p, first))
	oneMailEach(t, server, first.mailed, 0)
	mailed, all, large := maps.Clone(first.mailed), injuries(), 0
	for round := range rounds(4) {
		c := newCrowd(fmt.Sprint("crowd-", round), 500)
		maps.Copy(mailed, c.mailed)
		lost := survives(t, p, server, all[round%len(all)], c, mailed)
		if t.Failed() {
			return
		}
		if lost >= manyLost {
			large++
		}
	}
	if *kills >= len(all) && large == 0 {
		t.Errorf("%d events were lost at no time: the test proves little", manyLost)
	}
}

// busy is how much longer than on an idle machine the last mail may take: NATS sends an event that was being handled
// when it ended again after 30 s.
const busy = 5 * time.Second

// waitUntilWhole waits until all services are ready and have published what their logs say is lost. It returns how long
// after a time that is.
func (i injury) waitUntilWhole(
	t *testing.T, p *whole.Processes, before rebuilds, since time.Time, what string,
) (took time.Duration) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		now, causes := rebuiltBy(p.Logs()), p.Unready()
		took = time.Since(since)
		if now.begun == now.ended && len(causes) == 0 && (!i.loses() || now.begun > before.begun) {
			return took
		}
		if took > recovery {
			t.Errorf("%s: not whole %s after NATS was back: %+v, %q", what, recovery, now, causes)
			return took
		}
		<-tick.C
	}
}

// survives injures the stream while people are imported, and returns how many events it has lost. mailed are all who
// get a mail.
func survives(
	t *testing.T, p *whole.Processes, server *outside.MailServer, i injury, c crowd, mailed map[string]bool,
) (lost int) {
	t.Helper()
	before, done := rebuiltBy(p.Logs()), make(chan struct{})
	go func() {
		defer close(done)
		c.everybody(t, taken(t, p, c))
	}()
	<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond) // the moment is the test's subject
	if i.stopped {
		p.End("nats", syscall.SIGTERM)
	} else {
		p.Kill("nats")
	}
	what := i.inflict(t, p.Dir+"/nats")
	watched := watchReadiness(p)
	p.StartNATS()
	began := time.Now()
	<-done
	if t.Failed() {
		return 0
	}
	mended := i.waitUntilWhole(t, p, before, began, what)
	oneMailEach(t, server, mailed, 0)
	took := time.Since(began)
	if took > recovery+busy {
		t.Errorf("%s: the last mail came only %s after NATS was back", what, took)
	}
	i.waitUntilWhole(t, p, before, began, what) // a relay may have looked later
	now := rebuiltBy(p.Logs())
	red := watched()
	lost = now.events - before.events
	t.Logf("%s: %d services have lost %d events, were not ready: %t; the last mail after %s, ready after %s", what,
		now.begun-before.begun, lost, red, took.Round(time.Millisecond), mended.Round(time.Millisecond))
	if lost >= manyLost && !red {
		t.Errorf("%s: readiness said nothing of the %d events that were lost", what, lost)
	}
	return lost
}
