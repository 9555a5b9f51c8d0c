package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// diskSize is what `herald run` needs at its start, and a little more.
const diskSize = "size=320m"

// inNamespace is set in the process in which a test may mount without being root.
const inNamespace = "FAULTS_IN_NAMESPACE"

// mount mounts a small disk in memory. Who is not root does so in a namespace of a process of its own, in which the
// test runs then; mount returns "" in that case.
func mount(t *testing.T) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 && os.Getenv(inNamespace) == "" {
		const mayMount = 21 // CAP_SYS_ADMIN
		c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), inNamespace+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{mayMount},
		}
		out, err := c.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Fatal(err)
		}
		return ""
	}
	dir = whole.Dir(t)
	if err := syscall.Mount("herald", dir, "tmpfs", 0, diskSize+",mode=711"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// fillUp uses up the free space of a disk, as fast as it can, or a block at each tick. It returns a function that frees
// the space again.
func fillUp(t *testing.T, dir string, tick <-chan time.Time) (free func()) {
	t.Helper()
	f, err := os.Create(dir + "/full")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<20); err == nil; {
		if tick != nil {
			<-tick
		}
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
}

// fullFor is how long the disk is full at least. Servers that fail on a full disk are looked at and started again in
// this time.
const fullFor = 8 * time.Second

// reads are what is asked for while the disk is full.
var reads = [][3]string{
	{http.MethodGet, "/management/v1/users/before", ""},
	{http.MethodPost, "/management/v1/users/_search", "{}"},
	{http.MethodPost, "/management/v1/projects/_search", "{}"},
	{http.MethodGet, "/auth/v1/users/me", ""},
}

// readOn reads until over is closed. It fails the test unless each read is answered with 200.
func readOn(t *testing.T, i *whole.Instance, over <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	n, statuses := 0, map[int]int{}
	for ; !closed(over); n++ {
		r := reads[n%len(reads)]
		status, answer, err := i.Try(r[0], r[1], r[2])
		if statuses[status]++; err != nil || status != http.StatusOK && statuses[status] == 1 {
			t.Errorf("%s %s while the disk is full: %d %v %v", r[0], r[1], status, answer, err)
		}
		<-tick.C
	}
	t.Logf("%d reads while the disk was full: %v", n, statuses)
}

// createOn creates projects as somebody who may do nothing else until over is closed, and reads those whose creation
// was answered with 200.
func createOn(t *testing.T, i *whole.Instance, token string, over <-chan struct{}) {
	i = &whole.Instance{T: t, URL: i.URL, Token: token}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	statuses := map[int]int{}
	for n := 0; !closed(over); n++ {
		status, answer, err := i.Try(http.MethodPost, "/management/v1/projects", fmt.Sprintf(`{"name":"P%d"}`, n))
		if statuses[status]++; err != nil {
			t.Error(err)
			return
		}
		if status == http.StatusOK {
			path := fmt.Sprint("/management/v1/projects/", answer["id"])
			if status, answer, err := i.Try(http.MethodGet, path, ""); status != http.StatusOK {
				t.Errorf("a project that was created with 200 is read with %d %v %v", status, answer, err)
			}
		}
		<-tick.C
	}
	t.Logf("projects: %v", statuses)
}

// creator makes a machine that may create projects, and returns its token.
func creator(i *whole.Instance) (token string) {
	i.T.Helper()
	id := i.Must(http.MethodPost, "/management/v1/users/machine",
		`{"userName":"creator","name":"Creator"}`)["userId"].(string)
	i.Must(http.MethodPost, "/management/v1/orgs/me/members",
		fmt.Sprintf(`{"userId":%q,"roles":["ORG_PROJECT_CREATOR"]}`, id))
	return i.Must(http.MethodPost, "/management/v1/users/"+id+"/pats", "{}")["token"].(string)
}

// writers import people. again has the times at which each was served after the end of the outage.
type writers struct {
	mu      sync.Mutex
	answers map[string]int // the status of each import
	refused chan struct{}
	over    chan struct{} // closed when the disk has room again
	busy    sync.WaitGroup
	again   []time.Time
}

// write imports one person after another until an import succeeds after the end of the outage.
func (w *writers) write(t *testing.T, i *whole.Instance, worker int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := 0; w.again[worker].IsZero(); n++ {
		id := fmt.Sprintf("full-%d-%d", worker, n)
		status, answer, err := i.Try(http.MethodPost, "/management/v1/users/human/_import", whole.Person(id))
		w.mu.Lock()
		w.answers[id] = status
		w.mu.Unlock()
		switch {
		case err != nil:
			t.Errorf("%s: %v", id, err)
			return
		case status == http.StatusOK && closed(w.over):
			w.again[worker] = time.Now()
		case status != http.StatusOK:
			w.refused <- struct{}{}
			if status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
				t.Errorf("%s: %d %v", id, status, answer)
				return
			}
			<-tick.C
		}
	}
}

// The disk of `herald run` fills up at 200 MiB a second, is full, and later has room again. While it is full, writes
// are refused and reads are answered. Whoever created a project just then can read it. Afterwards everything works
// again without help. The log has a line for the disk, and none for Postgres, which works. With a full disk nothing
// starts.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	withFullDisk(t, tick.C)
}

// If the disk is full at once, Postgres may crash, and then nothing can be read. Nothing else is different.
func TestDiskIsFullAtOnce(t *testing.T) {
	t.Parallel()
	withFullDisk(t, nil)
}

func withFullDisk(t *testing.T, tick <-chan time.Time) {
	t.Helper()
	dir := mount(t)
	if dir == "" {
		return
	}
	server := outside.StartMailServer(t, outside.MailConfig{})
	i := whole.New(t, "HERALD_SMTP_URL="+server.URL(), "HERALD_DATA_DIR="+dir+"/data")
	i.Dir = dir
	i.Start()
	i.Import("before")
	token, filled := creator(i), make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() { createOn(t, i, token, filled) })
	if tick != nil {
		reading.Go(func() { readOn(t, i, filled) })
	}
	free := fillUp(t, dir, tick)
	w := &writers{answers: map[string]int{}, refused: make(chan struct{}, 1<<16), over: make(chan struct{}),
		again: make([]time.Time, 8)}
	for worker := range w.again {
		w.busy.Go(func() { w.write(t, i, worker) })
	}
	for range 200 {
		<-w.refused
	}
	<-time.After(max(*awayFor, fullFor)) // how long the disk is full is the test's subject
	close(filled)
	reading.Wait()
	free()
	ended := time.Now()
	close(w.over)
	w.busy.Wait()
	last := ended
	for _, at := range w.again {
		if at.After(last) {
			last = at
		}
	}
	if last.Sub(ended) > recovery {
		t.Errorf("a client was served only %s after the disk had room", last.Sub(ended))
	}
	keptAll(t, i, server, w.answers)
	t.Logf("every client was served %s after the disk had room", last.Sub(ended).Round(time.Millisecond))
	if err := i.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	logs := i.Logs.String()
	for _, says := range []string{
		// Postgres itself works, unless the disk is full at once.
		"Postgres does not work",
		// NATS writes only what Postgres has taken, so it may not have noticed. Postgres cannot be told to refuse
		// changes if it crashes at once and does not start before the disk has room.
		"changes are refused until the disk has room", "changes are allowed again",
		"the database server does not refuse or allow changes", "the database server refuses or allows",
		`"NATS server"`, "NATS does not work; starting it again",
		"Postgres works again", "NATS runs again", // a few seconds later
	} {
		if n := strings.Count(logs, says); n > 1 {
			t.Errorf("the log says %d times: %s", n, says)
		}
	}
	if !strings.Contains(logs, "changes are refused until") &&
		(tick != nil || !strings.Contains(logs, "does not refuse or allow changes")) {
		t.Errorf("the log does not say that changes are refused: %s", logs)
	}
	if strings.Contains(logs, "Postgres refuses changes") ||
		tick != nil && strings.Contains(logs, "Postgres does not work") {
		t.Errorf("the log says of Postgres what it says of the disk: %s", logs)
	}
	if n := strings.Count(logs, "trying again"); n > 2 { // the relay and the consumer of users
		t.Errorf("the log says %d times that something is tried again", n)
	}
	doesNotStart(t, i, dir)
}

// doesNotStart fails the test unless a start on the full disk ends with an error that says which disk it is and what to
// do.
func doesNotStart(t *testing.T, i *whole.Instance, dir string) {
	t.Helper()
	fillUp(t, dir, nil)
	saysFull(t, i, dir+"/data")
}

// saysFull fails the test unless a start ends with an error that says that the disk of a data directory is full and
// what to do.
func saysFull(t *testing.T, i *whole.Instance, data string) {
	t.Helper()
	_, says, code := i.Herald("", "run")
	for _, want := range []string{"the disk of " + data + " is full", "make room on it"} {
		if code == 0 || !strings.Contains(says, want) {
			t.Errorf("a start on a full disk ends with %d and says %q, not %q", code, says, want)
		}
	}
}

// The first start with a data directory on a full disk, which cannot even lock it, names the disk. It does so also if
// the directory cannot be made.
func TestFirstStartOnFullDiskNamesIt(t *testing.T) {
	t.Parallel()
	dir := mount(t)
	if dir == "" {
		return
	}
	for _, there := range []string{"/there", "/locked"} {
		if err := os.Mkdir(dir+there, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/locked/run.lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fillUp(t, dir, nil)
	for _, data := range []string{"/there", "/locked", "/made", "/made/in/it"} {
		t.Run(data, func(t *testing.T) {
			i := whole.New(t, "HERALD_DATA_DIR="+dir+data)
			saysFull(t, i, dir+data)
		})
	}
}

// keptAll fails the test unless every user exists whose import was answered with 200, no user exists whose import was
// refused, and every user has one mail.
func keptAll(t *testing.T, i *whole.Instance, server *outside.MailServer, answers map[string]int) {
	t.Helper()
	there, count := imported(i), map[string]int{}
	for id, status := range answers {
		count[fmt.Sprint(status, " and there: ", there[id])]++
		if status == http.StatusOK && !there[id] || status == http.StatusServiceUnavailable && there[id] {
			t.Errorf("%s was answered with %d, and it is there: %t", id, status, there[id])
		}
	}
	t.Log(count)
	oneMailEach(t, server, there, 0)
}
