package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
)

// binary is the real one, built once for all tests of the package.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "herald-e2e-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "herald")
	out, err := exec.Command("go", "build", "-o", file, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return file, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if file, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(file))
	}
	os.Exit(code)
}

// instance is a running `herald run` with a data directory and ports of its own.
type instance struct {
	t     testing.TB
	dir   string
	env   []string
	cmd   *exec.Cmd
	ended chan error
	// url and mails are where the gateway and the inbox page are.
	url, mails string
	// out is what it wrote for the operator, logs what it wrote besides.
	out   []string
	logs  *bytes.Buffer
	token string
	ready time.Duration
	// binary is set where `make run` built it.
	binary string
}

// newInstance prepares an instance; start runs it.
func newInstance(t testing.TB, env ...string) *instance {
	t.Helper()
	dir := dataDir(t)
	i := &instance{t: t, dir: dir}
	listen, inbox := freeAddress(t), freeAddress(t)
	i.url, i.mails = "http://"+strings.Replace(listen, "127.0.0.1", "localhost", 1), "http://"+inbox
	i.env = append(os.Environ(), append([]string{
		"HERALD_DATA_DIR=" + dir + "/data", "HERALD_LISTEN=" + listen, "HERALD_INBOX_LISTEN=" + inbox,
	}, env...)...)
	t.Cleanup(func() {
		if i.cmd != nil {
			i.stop(syscall.SIGKILL)
		}
		if t.Failed() {
			t.Logf("last logs:\n%s", tail(i.logs))
		}
	})
	return i
}

// dataDir makes a directory that Postgres's own user can enter.
func dataDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "herald-data-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func tail(b *bytes.Buffer) string {
	if b == nil {
		return ""
	}
	s := b.String()
	return s[max(0, len(s)-4000):]
}

// given are the addresses of freeAddress, which nobody may listen on yet.
var given sync.Map

// freeAddress picks a port below those that the system gives to connections, so that
// none of them takes it before the instance does; none twice.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 15000+rand.IntN(15000))
		if _, taken := given.LoadOrStore(address, true); taken {
			continue
		}
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// start runs the binary and returns when it says ready.
func (i *instance) start() {
	i.t.Helper()
	file, err := binary()
	if err != nil {
		i.t.Fatal(err)
	}
	i.startCommand(file, "run")
}

// startCommand runs a command that runs herald.
func (i *instance) startCommand(name string, args ...string) {
	i.t.Helper()
	begin := time.Now()
	i.cmd = exec.Command(name, args...)
	i.cmd.Env, i.logs = i.env, &bytes.Buffer{}
	i.cmd.Stderr = i.logs
	// In a group of its own, so that what is typed at the test reaches the test.
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := i.cmd.StdoutPipe()
	if err != nil {
		i.t.Fatal(err)
	}
	if err := i.cmd.Start(); err != nil {
		i.t.Fatal(err)
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
	}(i.cmd, i.ended)
	select {
	case i.out = <-ready:
		if i.out == nil {
			i.t.Fatalf("herald ended before it was ready: %v\n%s", <-i.ended, tail(i.logs))
		}
	case <-time.After(time.Minute):
		i.t.Fatalf("herald was not ready within a minute\n%s", tail(i.logs))
	}
	i.ready = time.Since(begin)
	token, err := os.ReadFile(i.dir + "/data/admin.pat")
	if err != nil {
		i.t.Fatal(err)
	}
	i.token = strings.TrimSpace(string(token))
}

// stop sends a signal and answers with how the process ended.
func (i *instance) stop(signal syscall.Signal) error {
	i.t.Helper()
	_ = syscall.Kill(-i.cmd.Process.Pid, signal) // the whole group: make passes signals on to nobody
	i.cmd = nil
	if i.ended == nil {
		return nil
	}
	select {
	case err := <-i.ended:
		return err
	case <-time.After(40 * time.Second):
		i.t.Fatalf("herald did not stop\n%s", tail(i.logs))
		return nil
	}
}

// call asks the REST API and answers with the status and the decoded body.
func (i *instance) call(method, path, body string) (int, map[string]any) {
	i.t.Helper()
	status, answer, err := i.try(method, path, body)
	if err != nil {
		i.t.Fatal(err)
	}
	return status, answer
}

func (i *instance) try(method, path, body string) (int, map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, i.url+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+i.token)
	r.Header.Set("Content-Type", "application/json")
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
