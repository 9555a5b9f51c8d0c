// Package whole runs the whole system for tests. An Instance is the real binary with its own data
// directory and ports. Tests send requests over HTTP and read mails in the inbox.
package whole

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/shared/secret"
	"herald/shared/testkit"
)

// Instance is a running `herald run` with its own data directory and ports.
type Instance struct {
	T testing.TB
	// Dir holds the data directory, Dir/data.
	Dir string
	Env []string
	// Cmd is the running process, or nil.
	Cmd *exec.Cmd
	// URL and Mails are the addresses of the gateway and of the inbox page.
	URL, Mails string
	// Out is its output for the operator, Logs its other output.
	Out  []string
	Logs *bytes.Buffer
	// Token is the administrator's token.
	Token string
	// Org is the organization that calls act on, or empty for the administrator's own.
	Org string
	// Ready is the duration of the last start.
	Ready time.Duration

	printed string // by the first start, if that was of another instance
	ended   chan error
}

// New prepares an instance with settings. Its method Start runs it.
func New(t testing.TB, settings ...string) *Instance {
	t.Helper()
	listen, inbox := FreeAddress(t), FreeAddress(t)
	i := &Instance{T: t, Dir: Dir(t), Mails: "http://" + inbox}
	i.URL = "http://" + strings.Replace(listen, "127.0.0.1", "localhost", 1)
	i.Env = append(os.Environ(), append([]string{
		"HERALD_DATA_DIR=" + i.Dir + "/data", "HERALD_LISTEN=" + listen, "HERALD_INBOX_LISTEN=" + inbox,
	}, settings...)...)
	t.Cleanup(func() {
		if i.Cmd != nil {
			_ = i.Stop(syscall.SIGKILL)
		}
		if t.Failed() {
			t.Logf("last logs:\n%s", Tail(i.Logs))
		}
	})
	return i
}

// Start prepares an instance with settings and runs it. It is not the first start of its files, which takes three times
// as much of the processor: New and the method Start are.
func Start(t testing.TB, settings ...string) *Instance {
	t.Helper()
	i, used := New(t, settings...), usedFiles(t)
	if err := testkit.CopyFiles(used+"/data", i.Dir+"/data"); err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile(used + "/printed")
	if err != nil {
		t.Fatal(err)
	}
	i.printed = string(printed)
	i.StartCommand(Binary(t), "run")
	return i
}

// Start runs the binary and returns when it is ready. The first start finds files of a Postgres
// server that was never used, which it would make otherwise.
func (i *Instance) Start() {
	i.T.Helper()
	data := i.Dir + "/data"
	err := os.Mkdir(data, 0o711)
	if err == nil {
		err = testkit.PostgresFiles(data + "/postgres")
	}
	if err == nil { // of the start that would have made them
		err = os.WriteFile(data+"/master.key", []byte(secret.NewKeyText()), 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		i.T.Fatal(err)
	}
	i.StartCommand(Binary(i.T), "run")
}

// patience is how long a start may take, which `make run` begins by building the binary: on a machine that runs all
// tests. How fast a start is, BenchmarkStart measures.
const patience = 5 * time.Minute

// StartCommand is Start with another command, which runs herald.
func (i *Instance) StartCommand(name string, args ...string) {
	i.T.Helper()
	begin := time.Now()
	i.Cmd = exec.Command(name, args...)
	i.Cmd.Env, i.Logs = i.Env, &bytes.Buffer{}
	i.Cmd.Stderr = i.Logs
	// In its own process group, so that a ^C at the terminal reaches the test only.
	i.Cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := i.Cmd.StdoutPipe()
	if err != nil {
		i.T.Fatal(err)
	}
	if err := i.Cmd.Start(); err != nil {
		i.T.Fatal(err)
	}
	i.ended = make(chan error, 1)
	ready := make(chan []string, 1)
	go func(c *exec.Cmd, ended chan<- error) {
		defer close(ready)
		var said []string
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if said = append(said, lines.Text()); strings.HasPrefix(lines.Text(), "ready ") {
				ready <- said
			}
		}
		ended <- c.Wait()
	}(i.Cmd, i.ended)
	select {
	case i.Out = <-ready:
		if i.Out == nil {
			i.Cmd = nil
			i.T.Fatalf("herald ended before it was ready: %v\n%s", <-i.ended, Tail(i.Logs))
		}
	case <-time.After(patience):
		i.T.Fatalf("herald was not ready within %s\n%s", patience, Tail(i.Logs))
	}
	i.Ready = time.Since(begin)
	i.Token = strings.TrimSpace(i.data("admin.pat"))
}

// Stop sends a signal and returns how the process ended.
func (i *Instance) Stop(signal syscall.Signal) error {
	i.T.Helper()
	_ = syscall.Kill(-i.Cmd.Process.Pid, signal) // the whole group, because make does not pass signals on
	if i.ended == nil {
		i.Cmd = nil
		return nil
	}
	return i.Ended()
}

// Ended waits for the end of the process and returns how it ended.
func (i *Instance) Ended() error {
	i.T.Helper()
	i.Cmd = nil
	select {
	case err := <-i.ended:
		return err
	case <-time.After(40 * time.Second):
		i.T.Fatalf("herald did not stop\n%s", Tail(i.Logs))
		return nil
	}
}

// Herald runs a command of the binary in the folder of the instance.
func (i *Instance) Herald(stdin string, args ...string) (stdout, stderr string, code int) {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, complaints bytes.Buffer
	c := exec.CommandContext(ctx, Binary(i.T), args...)
	c.Env, c.Stdin, c.Stdout, c.Stderr = i.Env, strings.NewReader(stdin), &out, &complaints
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		i.T.Fatal(err)
	}
	return out.String(), complaints.String(), code
}

// Call sends a request to the REST API and returns the status and the decoded body.
func (i *Instance) Call(method, path, body string) (int, map[string]any) {
	i.T.Helper()
	status, answer, err := i.Try(method, path, body)
	if err != nil {
		i.T.Fatal(err)
	}
	return status, answer
}

// Must is Call for a request that must succeed.
func (i *Instance) Must(method, path, body string) map[string]any {
	i.T.Helper()
	status, answer := i.Call(method, path, body)
	if status != http.StatusOK {
		i.T.Fatalf("%s %s answered %d %v", method, path, status, answer)
	}
	return answer
}

// Try is Call for an instance that may not answer.
func (i *Instance) Try(method, path, body string) (int, map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, i.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+i.Token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Service-Orgid", i.Org)
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return 0, nil, err
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, nil, fmt.Errorf("%s %s answered %d %q", method, path, w.StatusCode, text)
	}
	return w.StatusCode, answer, nil
}

// NATS returns the address of the instance's NATS server.
func (i *Instance) NATS() string {
	i.T.Helper()
	_, address, _ := strings.Cut(strings.TrimSpace(i.data("operator.url")), "@")
	return address
}

// Subscriber returns the URL with which other programs subscribe to events.
func (i *Instance) Subscriber() string {
	i.T.Helper()
	return strings.TrimSpace(i.data("subscriber.url"))
}

// data returns the text of a file in the data directory.
func (i *Instance) data(name string) string {
	i.T.Helper()
	return i.read(filepath.Join(i.Dir, "data", name))
}

func (i *Instance) read(file string) string {
	i.T.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		i.T.Fatal(err)
	}
	return string(text)
}

// Tail returns the end of a process's output.
func Tail(b *bytes.Buffer) string {
	if b == nil {
		return ""
	}
	s := b.String()
	return s[max(0, len(s)-4000):]
}

// addresses are loopback addresses, each with another port. The ports are below those that the
// operating system gives to connections, so that no connection takes one before the instance.
var addresses = sync.OnceValue(func() <-chan string {
	all := make(chan string, 15000)
	for _, n := range rand.Perm(cap(all)) {
		all <- fmt.Sprintf("127.0.0.1:%d", 15000+n)
	}
	close(all)
	return all
})

// FreeAddress returns an address on which no process listens. It looks at the last moment, because the tests of other
// packages run at the same time.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for address := range addresses() {
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
