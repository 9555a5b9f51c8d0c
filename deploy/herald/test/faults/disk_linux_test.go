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

// fillUp uses up the free space of a disk. It returns a function that frees it again.
func fillUp(t *testing.T, dir string) (free func()) {
	t.Helper()
	f, err := os.Create(dir + "/full")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<20); err == nil; {
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

// The disk of `herald run` is full, and later has room again. While it is full, writes are refused. Afterwards
// everything works again without help. The log has a line for the outage of each server.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	dir := mount(t)
	if dir == "" {
		return
	}
	server := outside.StartMailServer(t, outside.MailConfig{})
	i := whole.New(t, "HERALD_SMTP_URL="+server.URL(), "HERALD_DATA_DIR="+dir+"/data")
	i.Dir = dir
	i.Start()
	i.Import("before")
	free := fillUp(t, dir)
	answers, refused, over := map[string]int{}, make(chan struct{}, 1<<16), make(chan struct{})
	var mu sync.Mutex
	var busy sync.WaitGroup
	again := make([]time.Time, 8)
	for worker := range again {
		busy.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for n := 0; again[worker].IsZero(); n++ {
				id := fmt.Sprintf("full-%d-%d", worker, n)
				status, answer, err := i.Try(http.MethodPost, "/management/v1/users/human/_import", whole.Person(id))
				mu.Lock()
				answers[id] = status
				mu.Unlock()
				switch {
				case err != nil:
					t.Errorf("%s: %v", id, err)
					return
				case status == http.StatusOK && closed(over):
					again[worker] = time.Now()
				case status != http.StatusOK:
					refused <- struct{}{}
					if status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
						t.Errorf("%s: %d %v", id, status, answer)
						return
					}
					<-tick.C
				}
			}
		})
	}
	for range 200 {
		<-refused
	}
	<-time.After(*awayFor) // how long the disk is full is the test's subject
	free()
	ended := time.Now()
	close(over)
	busy.Wait()
	last := ended
	for _, at := range again {
		if at.After(last) {
			last = at
		}
	}
	if last.Sub(ended) > recovery {
		t.Errorf("a client was served only %s after the disk had room", last.Sub(ended))
	}
	keptAll(t, i, server, answers)
	t.Logf("every client was served %s after the disk had room", last.Sub(ended).Round(time.Millisecond))
	if err := i.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	logs := i.Logs.String()
	for says, least := range map[string]int{
		"Postgres does not work": 1,
		// NATS writes only what Postgres has taken, so it may not have noticed.
		`"NATS server"`: 0, "NATS does not work; starting it again": 0,
		"Postgres works again": 0, "NATS runs again": 0, // a few seconds later
	} {
		if n := strings.Count(logs, says); n < least || n > 1 {
			t.Errorf("the log says %d times: %s", n, says)
		}
	}
	if n := strings.Count(logs, "trying again"); n > 2 { // the relay and the consumer of users
		t.Errorf("the log says %d times that something is tried again", n)
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
