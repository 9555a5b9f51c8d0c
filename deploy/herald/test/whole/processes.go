package whole

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"herald/deploy/herald/internal/services"
	"herald/shared/bus"
	"herald/shared/postgres/local"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// Processes is the system with a process per service. `herald secrets` prepares it, as in
// containers. Env is the environment of every process.
type Processes struct {
	*Instance
	Postgres *local.Server
	// Program is the binary of the services that are started next.
	Program string

	tokenFile   string
	nats        *server.Server // in this process, or nil
	natsAddress string
	mu          sync.Mutex
	running     map[string]*exec.Cmd
	// ops are the addresses for operators of the services that were started last.
	ops map[string]string
	// logs are those of the services that were started last.
	logs map[string]*testkit.Lines
}

// NewProcesses starts the servers and makes the secrets. Start and StartAll run services.
func NewProcesses(t testing.TB, smtp string) *Processes {
	t.Helper()
	return NewProcessesOf(t, Binary(t), smtp)
}

// NewProcessesOf is NewProcesses with another binary, such as that of another version.
func NewProcessesOf(t testing.TB, program, smtp string) *Processes {
	t.Helper()
	p := &Processes{
		Instance: New(t), Postgres: Postgres(t), Program: program, natsAddress: FreeAddress(t),
		running: map[string]*exec.Cmd{}, ops: map[string]string{}, logs: map[string]*testkit.Lines{},
	}
	secrets := p.Dir + "/secrets"
	if out, err := exec.Command(program, "secrets", secrets).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	key := "HERALD_MASTER_KEY_FILE=" + secrets + "/keys/master.key"
	databases := exec.Command(program, "databases")
	databases.Env = append(os.Environ(), key, "HERALD_DATABASE_URL="+p.Postgres.TCP())
	if out, err := databases.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	database, err := url.Parse(p.Postgres.TCP())
	if err != nil {
		t.Fatal(err)
	}
	database.User = nil // each service logs in as itself
	keys, err := secret.ParseKeys(p.read(secrets + "/keys/master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if p.nats, err = (bus.Embedded{Dir: p.Dir + "/nats", Listen: p.natsAddress, Keys: keys}).Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.StopNATS)
	p.tokenFile = p.Dir + "/admin.pat"
	p.Env = append(os.Environ(), key, "HERALD_NATS_URL=nats://"+p.natsAddress,
		"HERALD_DATABASE_URL="+database.String(),
		"HERALD_SMTP_URL="+smtp, "HERALD_ADMIN_PAT_FILE="+p.tokenFile, "HERALD_PUBLIC_URL="+p.URL)
	return p
}

// Machine is where a process runs.
type Machine struct {
	Address string // without a port
	Start   func(*exec.Cmd) error
}

// Here is this machine.
var Here = Machine{"127.0.0.1", (*exec.Cmd).Start}

// FreeAddress returns an address of the machine on which no process listens.
func (m Machine) FreeAddress(t testing.TB) string {
	t.Helper()
	return strings.Replace(FreeAddress(t), Here.Address, m.Address, 1)
}

// Start runs a service and returns when `herald health` reports that it is ready.
func (p *Processes) Start(service string, settings ...string) *exec.Cmd {
	p.T.Helper()
	return p.StartOn(Here, service, settings...)
}

// StartOn is Start on another machine.
func (p *Processes) StartOn(m Machine, service string, settings ...string) *exec.Cmd {
	p.T.Helper()
	c := p.launch(m, service, settings)
	p.mu.Lock()
	ops := p.ops[service]
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for said := ""; ; {
		// A process for each question would take the time that the service needs to start.
		if answers(ctx, ops) {
			health := exec.CommandContext(ctx, p.Program, "health")
			health.Env = c.Env
			out, err := health.CombinedOutput()
			if err == nil {
				return c
			}
			said = string(out) // it may have found a loss of the stream meanwhile
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.T.Fatalf("%s was not ready within %s; herald health said %q", service, patience, said)
			return nil
		}
	}
}

// Launch runs a service, and does not wait until it is ready.
func (p *Processes) Launch(service string, settings ...string) *exec.Cmd {
	p.T.Helper()
	return p.launch(Here, service, settings)
}

func (p *Processes) launch(m Machine, service string, settings []string) *exec.Cmd {
	p.T.Helper()
	ops := m.FreeAddress(p.T)
	if service == "gateway" {
		listen := strings.Replace(strings.TrimPrefix(p.URL, "http://"), "localhost", "127.0.0.1", 1)
		settings = append([]string{"HERALD_LISTEN=" + listen}, settings...) // unless they name another
	}
	logs := &testkit.Lines{}
	c := exec.Command(p.Program, service)
	c.Env = append(p.Env[:len(p.Env):len(p.Env)], append(settings, "HERALD_OPS_LISTEN="+ops)...)
	c.Stderr = logs
	if err := m.Start(c); err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() {
		if p.T.Failed() {
			p.T.Logf("%s: %s", service, Tail(bytes.NewBufferString(logs.String())))
		}
	})
	p.Keep(service, c)
	p.mu.Lock()
	p.ops[service], p.logs[service] = ops, logs
	p.mu.Unlock()
	return c
}

// Unready asks each service that was started last under its name whether it is ready, and returns what the others say.
func (p *Processes) Unready() (causes []string) {
	p.T.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	said := make(chan string, len(p.ops))
	for service, ops := range p.ops {
		go func() {
			w, err := http.Get("http://" + ops + "/readyz")
			if err != nil {
				said <- fmt.Sprintf("%s: %v", service, err)
				return
			}
			text, _ := io.ReadAll(w.Body)
			_ = w.Body.Close()
			if w.StatusCode == http.StatusOK {
				text = nil
			} else {
				text = fmt.Appendf(nil, "%s: %s", service, text)
			}
			said <- string(text)
		}()
	}
	for range p.ops {
		if cause := <-said; cause != "" {
			causes = append(causes, cause)
		}
	}
	return causes
}

// Ops returns the addresses for operators of the services that were started last under their names.
func (p *Processes) Ops() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.ops)
}

// Logs returns the logs of the services that were started last under their names.
func (p *Processes) Logs() map[string]*testkit.Lines {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.logs)
}

// Keep remembers a process by a name, and ends it with the test.
func (p *Processes) Keep(name string, c *exec.Cmd) {
	p.mu.Lock()
	p.running[name] = c
	p.mu.Unlock()
	p.T.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
}

// Signal sends a signal to the process that was started last under a name.
func (p *Processes) Signal(name string, signal syscall.Signal) {
	p.T.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.running[name].Process.Signal(signal); err != nil {
		p.T.Fatalf("signal %s: %v", name, err)
	}
}

// KillAll kills at once what was started last under each name, and waits for the end of all.
func (p *Processes) KillAll() {
	p.T.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, c := range p.running {
		if err := c.Process.Kill(); err != nil {
			p.T.Fatalf("kill %s: %v", name, err)
		}
	}
	for _, c := range p.running {
		_ = c.Wait()
	}
}

// Kill kills the process that was started last under a name.
func (p *Processes) Kill(name string) {
	p.T.Helper()
	p.End(name, syscall.SIGKILL)
}

// End sends a signal to the process that was started last under a name, and waits for its end.
func (p *Processes) End(name string, signal syscall.Signal) {
	p.T.Helper()
	p.mu.Lock()
	c := p.running[name]
	p.mu.Unlock()
	if err := c.Process.Signal(signal); err != nil {
		p.T.Fatalf("end %s: %v", name, err)
	}
	if err := c.Wait(); err != nil && signal != syscall.SIGKILL {
		p.T.Errorf("%s ended with %v", name, err)
	}
}

// answers reports whether a process says at its address for operators that it is ready.
func answers(ctx context.Context, ops string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ops+"/readyz", nil)
	if err != nil {
		return false
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer w.Body.Close()
	return w.StatusCode == http.StatusOK
}

// StartAll runs every service and the gateway, and returns the process of users.
func (p *Processes) StartAll() (users *exec.Cmd) {
	p.T.Helper()
	for _, service := range services.Names() {
		if c := p.Start(service); service == "users" {
			users = c
		}
	}
	p.Start("gateway")
	p.ReadToken()
	return users
}

// ReadToken reads the administrator's token, which users writes when it starts, into Token.
func (p *Processes) ReadToken() {
	p.T.Helper()
	p.Token = strings.TrimSpace(p.read(p.tokenFile))
}
