package journey_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// watcher is a running examples/subscriber.
type watcher struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines chan string
}

// watch starts a command that runs the subscriber, and returns when it gets events.
func watch(t testing.TB, name string, args ...string) *watcher {
	t.Helper()
	w := &watcher{t, exec.Command(name, args...), make(chan string, 1000)}
	w.cmd.Dir = whole.Root(t)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	notes, err := w.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) })
	connected := make(chan string, 1)
	go func() {
		var said strings.Builder
		for l := bufio.NewScanner(notes); l.Scan(); {
			if said.WriteString(l.Text() + "\n"); strings.HasPrefix(l.Text(), "connected") {
				break
			}
		}
		connected <- said.String()
		_, _ = io.Copy(io.Discard, notes)
	}()
	go func() {
		defer close(w.lines)
		for l := bufio.NewScanner(stdout); l.Scan(); {
			w.lines <- l.Text()
		}
	}()
	select {
	case said := <-connected:
		if !strings.Contains(said, "connected") {
			t.Fatalf("the subscriber ended: %s", said)
		}
	case <-time.After(time.Minute):
		t.Fatal("the subscriber is not connected after a minute")
	}
	return w
}

// until reads lines up to the one with a text.
func (w *watcher) until(text string) string {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				w.t.Fatalf("the subscriber ended before %s", text)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-deadline:
			w.t.Fatalf("no line has %s", text)
		}
	}
}

const addressFile = "/data/subscriber.url"

// cutOff is how long a subscriber does not answer NATS, which ends its connection then.
const cutOff = 10 * time.Second

// built returns the file of the example.
func built(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "subscriber")
	build := exec.Command("go", "build", "-o", file, whole.Root(t)+"/examples/subscriber")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

// The example prints the events of a person, ends at ^C, and says what is wrong with an address.
func TestSubscriberExample(t *testing.T) {
	t.Parallel()
	file := built(t)
	i := whole.Start(t)
	text, err := os.ReadFile(i.Dir + addressFile)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(string(text))
	one, all := watch(t, file, i.Dir+addressFile, "mini-mouse"), watch(t, file, i.Dir+addressFile)
	body := whole.File(t, "examples/user.json")
	i.Import("somebody-else")
	i.Call("POST", "/management/v1/users/human/_import", body)
	i.ChoosePassword("mini@example.com")
	i.Call("POST", "/management/v1/users/mini-mouse/pats", "{}")
	all.until("somebody-else")
	first := one.until("")
	for _, part := range []string{
		"herald.users.human.imported.v1", "  events.users.human.imported.", "  mini-mouse  by  ", `"initMail":`,
	} {
		if !strings.Contains(strings.ReplaceAll(first, `": "`, `":"`), part) {
			t.Errorf("the first line lacks %s: %s", part, first)
		}
	}
	one.until("herald.users.human.initialized.v1")
	one.until("herald.users.pat.added.v1") // an event of another object that names the user
	for _, w := range []*watcher{one, all} {
		if err := w.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		for range w.lines { // read all output before Wait
		}
		if err := w.cmd.Wait(); err != nil {
			t.Errorf("after ^C: %v", err)
		}
	}
	for address, says := range map[string]string{
		strings.Replace(url, "subscriber:", "subscriber:x", 1): "refuses these credentials",
		"nats://subscriber:x@127.0.0.1:1":                      "nobody listens",
		"http://127.0.0.1:1/%zz":                               "usage:",
		"":                                                     "usage:",
	} {
		held := filepath.Join(t.TempDir(), "address")
		if err := os.WriteFile(held, []byte(address), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		out, err := exec.CommandContext(ctx, file, held).CombinedOutput()
		cancel()
		if err == nil || !strings.Contains(string(out), says) || strings.Contains(string(out), "goroutine") {
			t.Errorf("%q: %v %s", address, err, out)
		}
	}
}

// A frozen subscriber does not disturb other clients. When it runs again it gets the events from then on.
func TestSubscriberThatFreezes(t *testing.T) {
	t.Parallel()
	file := built(t)
	i := whole.Start(t)
	frozen := watch(t, file, i.Dir+addressFile)
	i.Import("before")
	frozen.until("before")
	if err := frozen.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	awake := watch(t, file, i.Dir+addressFile)
	for n := 0; time.Since(began) < cutOff; n++ {
		id := fmt.Sprint("meanwhile-", n)
		i.Import(id)
		awake.until(id)
		i.Mail(id + "@example.com")
	}
	if err := frozen.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; n < 200; { // it misses some of them until it is connected again
		select {
		case line := <-frozen.lines:
			if strings.Contains(line, "afterwards") {
				return
			}
		case <-tick.C:
			i.Import(fmt.Sprint("afterwards-", n))
			n++
		}
	}
	t.Error("it gets no events")
}
