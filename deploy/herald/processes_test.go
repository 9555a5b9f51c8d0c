package main_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"herald/shared/bus"
	"herald/shared/postgres/local"
	"herald/shared/secret"
	"herald/shared/testkit/smtpd"
)

// processes is the system as a process per service, set up by `herald secrets` as
// the containers are.
type processes struct {
	*instance
	env      []string
	postgres *local.Server
}

func newProcesses(t testing.TB, smtp string) *processes {
	t.Helper()
	p := &processes{instance: newInstance(t)}
	file, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	secrets := p.dir + "/secrets"
	if out, err := exec.Command(file, "secrets", secrets).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server, err := local.Start(t.Context(), local.Options{
		Dir: p.dir + "/postgres", Bin: os.Getenv("PG_BIN"), Volatile: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	p.postgres = server
	databases := exec.Command(file, "databases")
	databases.Env = append(os.Environ(), "HERALD_MASTER_KEY_FILE="+secrets+"/keys/master.key",
		"HERALD_DATABASE_URL="+server.TCP())
	if out, err := databases.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	database, err := url.Parse(server.TCP())
	if err != nil {
		t.Fatal(err)
	}
	database.User = nil // each service logs in as itself
	keys, err := secret.ParseKeys(p.read(secrets + "/keys/master.key"))
	if err != nil {
		t.Fatal(err)
	}
	nats, err := bus.Embedded{Dir: p.dir + "/nats", Listen: freeAddress(t), Keys: keys}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Stop(nats) })
	p.token = p.dir + "/admin.pat"
	p.env = append(os.Environ(), "HERALD_MASTER_KEY_FILE="+secrets+"/keys/master.key",
		"HERALD_NATS_URL=nats://"+nats.Addr().String(),
		"HERALD_DATABASE_URL="+database.String(),
		"HERALD_SMTP_URL="+smtp, "HERALD_ADMIN_PAT_FILE="+p.token, "HERALD_PUBLIC_URL="+p.url)
	return p
}

func (p *processes) read(file string) string {
	p.t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// start runs a service and returns when `herald health` says that it is ready.
func (p *processes) start(service string, env ...string) *exec.Cmd {
	p.t.Helper()
	file, err := binary()
	if err != nil {
		p.t.Fatal(err)
	}
	env = append(p.env, append([]string{"HERALD_OPS_LISTEN=" + freeAddress(p.t)}, env...)...)
	var logs bytes.Buffer
	c := exec.Command(file, service)
	c.Env, c.Stderr = env, &logs
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if p.t.Failed() {
			p.t.Logf("%s: %s", service, tail(&logs))
		}
	})
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range 400 {
		health := exec.Command(file, "health")
		health.Env = env
		if health.Run() == nil {
			return c
		}
		<-tick.C
	}
	p.t.Fatalf("%s was not ready within 20 s", service)
	return nil
}

// startAll runs every service and returns the process of users.
func (p *processes) startAll() (users *exec.Cmd) {
	p.t.Helper()
	users = p.start("users")
	for _, service := range []string{"text", "notification", "auth", "projects"} {
		p.start(service)
	}
	p.start("gateway", "HERALD_LISTEN="+strings.Replace(strings.TrimPrefix(p.url, "http://"), "localhost",
		"127.0.0.1", 1))
	p.token = strings.TrimSpace(p.read(p.token))
	return users
}

// A process per service does the same as one process; a replica that is stopped for
// an upgrade fails no request.
func TestProcesses(t *testing.T) {
	t.Parallel()
	server := smtpd.Start(t, smtpd.Config{})
	p := newProcesses(t, server.URL())
	first := p.startAll()
	if status, answer := p.call("POST", "/management/v1/users/human/_import",
		importBody("u0")); status != http.StatusOK {
		t.Fatalf("import: %d %v", status, answer)
	}
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
				if status, answer, err := p.try("GET", "/management/v1/users/u0", ""); err != nil ||
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
		second := p.start("users")
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
