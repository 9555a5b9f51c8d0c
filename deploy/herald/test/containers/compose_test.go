//go:build compose

package containers_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
)

// project is a running docker-compose.yml, with the name in COMPOSE_PROJECT_NAME and its own ports.
type project struct {
	*whole.Instance
	nats string
	// prometheus is the address of the profile monitoring.
	prometheus string
	// shop and directory are the ids of a project and of an identity provider.
	shop, directory string
	// held reports whether the engine keeps a network for endpoints that it does not list.
	held bool
}

// TestCompose is one test with many steps, because the containers take long to start. Run it with
// `make compose-test`.
func TestCompose(t *testing.T) {
	gateway, mails := whole.FreeAddress(t), whole.FreeAddress(t)
	p := &project{Instance: &whole.Instance{T: t, Mails: "http://" + mails}, nats: whole.FreeAddress(t),
		prometheus: whole.FreeAddress(t)}
	p.URL = "http://localhost:" + strings.TrimPrefix(gateway, "127.0.0.1:")
	p.Env = append(os.Environ(), "GATEWAY_ADDRESS="+gateway, "NATS_ADDRESS="+p.nats, "MAILS_ADDRESS="+mails,
		"HERALD_PUBLIC_URL="+p.URL, "PROMETHEUS_ADDRESS="+p.prometheus)
	t.Cleanup(func() {
		p.T = t
		if t.Failed() {
			t.Log(p.run("docker", "compose", "ps", "--all"), p.run("docker", "compose", "logs", "--tail", "30"))
		}
		p.down("--volumes", "--timeout", "5")
	})
	for _, story := range []struct {
		name string
		tell func()
	}{
		{"cold start", p.coldStart}, {"containers", p.hardened}, {"guide", p.guide}, {"journey", p.journey},
		{"subscriber", p.subscriber}, {"replicas", p.replicas}, {"rolling restart", p.rollingRestart},
		{"gateway restart", p.gatewayRestart}, {"crashes", p.crashes}, {"upgrade", p.upgrade},
		{"backup", p.backup}, {"monitoring", p.monitoring}, {"down and up", p.downAndUp}, {"removal", p.removal},
	} {
		begin := time.Now()
		ok := t.Run(story.name, func(t *testing.T) {
			p.T = t
			story.tell()
		})
		t.Logf("%s: %s", story.name, time.Since(begin).Round(time.Second/10))
		if !ok {
			break // later steps need this one
		}
	}
}

// run runs a command in the repository's root and returns what it printed.
func (p *project) run(name string, args ...string) string {
	p.T.Helper()
	out, err := p.try(name, args...)
	if err != nil {
		p.T.Fatal(err)
	}
	return out
}

// try runs a program and returns what it writes, without white space around it. The error has all that it says.
func (p *project) try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	var said bytes.Buffer
	c.Dir, c.Env, c.Stderr = whole.Root(p.T), p.Env, &said
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, said.String())
	}
	return strings.TrimSpace(string(out)), err
}

func (p *project) compose(args ...string) string {
	p.T.Helper()
	return p.run("docker", append([]string{"compose"}, args...)...)
}

// down removes the containers and networks. Docker's engine sometimes keeps the endpoint of a container that is gone,
// and then does not remove the network: such endpoints are disconnected, and the second try must succeed. If the engine
// lists none, only its restart would help (moby/moby issue 42119), and the network stays.
func (p *project) down(args ...string) {
	p.T.Helper()
	args = append([]string{"compose", "down"}, args...)
	_, err := p.try("docker", args...)
	if err == nil {
		return
	}
	stuck := regexp.MustCompile(`network (\S+) id \S+ has active endpoints`).FindStringSubmatch(err.Error())
	if stuck == nil || len(p.ids()) > 0 {
		p.T.Fatal(err)
	}
	names := p.run("docker", "network", "inspect", "--format", "{{range .Containers}}{{.Name}} {{end}}", stuck[1])
	if p.held = names == ""; p.held {
		p.T.Logf("the engine keeps the network %s for endpoints that it does not list", stuck[1])
		return
	}
	for _, name := range strings.Fields(names) {
		p.run("docker", "network", "disconnect", "--force", stuck[1], name)
	}
	p.run("docker", args...)
}

func (p *project) up(args ...string) {
	p.T.Helper()
	p.compose(append([]string{"up", "--detach", "--wait"}, args...)...)
}

// ids returns the ids of running containers, by service.
func (p *project) ids(services ...string) []string {
	p.T.Helper()
	return strings.Fields(p.compose(append([]string{"ps", "--quiet"}, services...)...))
}

// startLimit is for a busy machine; an idle one needs 20 s at most.
const startLimit = time.Minute

func (p *project) coldStart() {
	begin := time.Now()
	p.up()
	up := time.Since(begin)
	p.Token = p.compose("exec", "users", "herald", "admin-pat")
	p.Import("first")
	took := time.Since(begin)
	p.T.Logf("the first import after %s, of which up %s", took.Round(time.Second/10), up.Round(time.Second/10))
	if took > startLimit {
		p.T.Errorf("a cold start takes %s", took)
	}
	if size := p.run("docker", "image", "inspect", "--format", "{{.Size}}", os.Getenv("IMAGE")); len(size) != 8 ||
		size > "40000000" {
		p.T.Errorf("the image has %s bytes", size)
	}
}

// inspected is the engine's description of a container.
type inspected struct {
	Name   string
	Config struct {
		User   string
		Labels map[string]string
	}
	HostConfig struct {
		ReadonlyRootfs, Privileged bool
		CapAdd, CapDrop            []string
		SecurityOpt                []string
		PidsLimit                  int64
	}
	NetworkSettings struct {
		Ports    map[string][]struct{ HostIP, HostPort string }
		Networks map[string]any
	}
}

func (p *project) containers() map[string]inspected {
	p.T.Helper()
	var all []inspected
	list := append([]string{"inspect"}, strings.Fields(p.compose("ps", "--all", "--quiet"))...)
	if err := json.Unmarshal([]byte(p.run("docker", list...)), &all); err != nil {
		p.T.Fatal(err)
	}
	byService := map[string]inspected{}
	for _, c := range all {
		byService[c.Config.Labels["com.docker.compose.service"]] = c
	}
	return byService
}

// Containers have only the rights that they need, and two ports are published.
func (p *project) hardened() {
	all := p.containers()
	if len(all) < 10 {
		p.T.Errorf("%d containers", len(all))
	}
	var published []string
	for service, c := range all {
		h := c.HostConfig
		if !h.ReadonlyRootfs || h.Privileged || !slices.Equal(h.CapDrop, []string{"ALL"}) || h.PidsLimit <= 0 ||
			!slices.Contains(h.SecurityOpt, "no-new-privileges:true") {
			p.T.Errorf("%s has too many rights: %+v", service, h)
		}
		capabilities, user := 0, c.Config.User
		if service == "secrets" { // ends before others start, and reaches no network
			capabilities, user = 1, "65532"
		}
		if len(h.CapAdd) != capabilities || user == "" || strings.HasPrefix(user, "0") ||
			strings.HasPrefix(user, "root") {
			p.T.Errorf("%s runs as %q with %v", service, c.Config.User, h.CapAdd)
		}
		for _, addresses := range c.NetworkSettings.Ports {
			for _, a := range addresses {
				published = append(published, service+" "+a.HostIP+":"+a.HostPort)
			}
		}
		_, data := c.NetworkSettings.Networks[os.Getenv("COMPOSE_PROJECT_NAME")+"_data"]
		if data && slices.Contains([]string{"gateway", "nats", "mailpit", "secrets"}, service) {
			p.T.Errorf("%s reaches the database", service)
		}
	}
	slices.Sort(published)
	if want := []string{"gateway " + strings.Replace(p.URL, "http://localhost", "127.0.0.1", 1), "nats " +
		p.nats}; !slices.Equal(published, want) {
		p.T.Errorf("published %v, want %v", published, want)
	}
}

// guide runs the commands of the guide to containers.
func (p *project) guide() {
	steps := whole.Steps(p.T, "docs/containers.md")
	var shell strings.Builder
	shell.WriteString("set -euo pipefail\n")
	for _, s := range steps {
		shell.WriteString(strings.ReplaceAll(s.Command, "localhost:8080", strings.TrimPrefix(p.URL, "http://")))
	}
	if out := p.run("bash", "-c", shell.String()); !strings.Contains(out, `"languages"`) {
		p.T.Errorf("printed %s", out)
	}
	if n := len(p.ids("users")); n != 3 {
		p.T.Errorf("%d replicas", n)
	}
	p.up("--scale", "users=1", "--no-recreate")
}

// journey imports a person, who gets a mail, chooses a password and is then active.
func (p *project) journey() {
	p.up("--no-recreate")
	p.run("docker", "compose", "-f", "docker-compose.yml", "-f", "deploy/compose/mails.yml", "up",
		"--detach", "--wait", "mailpit")
	body := whole.File(p.T, "examples/user.json")
	if status, answer := p.Call("POST", "/management/v1/users/human/_import", body); status != http.StatusOK ||
		answer["initMail"] != "INIT_MAIL_QUEUED" {
		p.T.Fatalf("import: %d %v", status, answer)
	}
	if state := p.State("mini-mouse"); state != "USER_STATE_INITIAL" {
		p.T.Errorf("state %s", state)
	}
	p.ChoosePassword("mini@example.com")
	if state := p.State("mini-mouse"); state != "USER_STATE_ACTIVE" {
		p.T.Errorf("state %s", state)
	}
	status, answer := p.Call("POST", "/management/v1/projects", `{"name":"Shop"}`)
	if status != http.StatusOK {
		p.T.Fatalf("create a project: %d %v", status, answer)
	}
	p.shop, _ = answer["id"].(string)
	status, answer = p.Call("POST", "/management/v1/idps/directory", `{"name":"Company","clientId":"herald",
		"clientSecret":"of the directory"}`)
	if status != http.StatusOK {
		p.T.Fatalf("create an identity provider: %d %v", status, answer)
	}
	p.directory, _ = answer["id"].(string)
}

// subscriber checks that from outside only the subscriber can log in to NATS, and can only watch.
func (p *project) subscriber() {
	if _, err := nats.Connect("nats://subscriber:wrong@" + p.nats); err == nil {
		p.T.Error("any password will do")
	}
	refused := make(chan error, 10)
	nc, err := nats.Connect("nats://subscriber:"+p.compose("exec", "users", "herald", "subscriber-password")+"@"+
		p.nats,
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		p.T.Fatal(err)
	}
	defer nc.Close()
	events, err := nc.SubscribeSync("events.users.human.imported.>")
	if err != nil {
		p.T.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		p.T.Fatal(err)
	}
	p.Import("watched")
	if m, err := events.NextMsg(10 * time.Second); err != nil || m.Header.Get("ce-subject") != "watched" {
		p.T.Fatal(m, err)
	}
	if err := nc.Publish("events.users.human.imported.x", nil); err != nil {
		p.T.Fatal(err)
	}
	select {
	case err := <-refused:
		if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
			p.T.Error(err)
		}
	case <-time.After(10 * time.Second):
		p.T.Fatal("publishing is not refused")
	}
}

// scalable are the services without a published port.
var scalable = services.Names()

func scaled(n int) []string {
	args := []string{"--no-recreate"}
	for _, s := range scalable {
		args = append(args, "--scale", fmt.Sprintf("%s=%d", s, n))
	}
	return args
}

func (p *project) replicas() {
	p.up(scaled(3)...)
	for _, s := range scalable {
		if n := len(p.ids(s)); n != 3 {
			p.T.Errorf("%d replicas of %s", n, s)
		}
	}
	for i := range 30 {
		p.Import(fmt.Sprintf("many%d", i))
	}
	p.Mail("many29@example.com")
	p.up(scaled(2)...)
}

// ask sends a request that the named service answers.
func (p *project) ask(service string) error {
	path := map[string]string{
		"users": "/management/v1/users/mini-mouse", "text": "/management/v1/text/message/init/de",
		"notification": "/management/v1/users/mini-mouse/notifications",
		"auth":         "/ui/login/user/init?userID=mini-mouse",
		"projects":     "/management/v1/projects/" + p.shop,
		"idp":          "/management/v1/idps/" + p.directory,
	}[service]
	r, err := http.NewRequest(http.MethodGet, p.URL+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.Token)
	client := http.Client{Timeout: 30 * time.Second}
	w, err := client.Do(r)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if body, err := io.ReadAll(w.Body); err != nil || w.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d %s, %v", path, w.StatusCode, body, err)
	}
	return nil
}

// during sends requests to all services while something happens.
func (p *project) during(what func()) (answered int64, failures []error) {
	var done atomic.Int64
	var mu sync.Mutex
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for _, s := range scalable {
		callers.Go(func() {
			pace := time.NewTicker(5 * time.Millisecond) // leaves CPU time to what happens
			defer pace.Stop()
			for {
				select {
				case <-stop:
					return
				case <-pace.C:
				}
				if err := p.ask(s); err != nil {
					mu.Lock()
					failures = append(failures, err)
					mu.Unlock()
					continue
				}
				done.Add(1)
			}
		})
	}
	what()
	close(stop)
	callers.Wait()
	return done.Load(), failures
}

// No request fails while the two replicas of each service are replaced one after the other.
func (p *project) rollingRestart() {
	answered, failures := p.during(func() {
		for turn := range 2 {
			var ids []string
			for _, s := range scalable {
				ids = append(ids, p.ids(s)[turn])
			}
			p.run("docker", append([]string{"stop"}, ids...)...)
			p.run("docker", append([]string{"start"}, ids...)...)
			p.healthy(ids...)
		}
	})
	p.T.Logf("%d requests during the restart of every replica, %d failed", answered, len(failures))
	if len(failures) > 0 || answered == 0 {
		p.T.Errorf("failed: %v", failures[:min(5, len(failures))])
	}
}

// eventually repeats a check, because the engine sends no signal.
func (p *project) eventually(what string, holds func() bool) {
	p.T.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			p.T.Fatalf("not within a minute: %s", what)
		}
	}
}

// each returns a line of the engine's description for each container.
func (p *project) each(ids []string, format string) []string {
	p.T.Helper()
	return strings.Split(p.run("docker", append([]string{"inspect", "--format", format}, ids...)...), "\n")
}

// healthy waits until the containers are healthy.
func (p *project) healthy(ids ...string) {
	p.T.Helper()
	p.eventually("all are healthy", func() bool {
		return !slices.ContainsFunc(p.each(ids, "{{.State.Health.Status}}"), func(s string) bool {
			return s != "healthy"
		})
	})
}

// There is one gateway. While it restarts, clients only see refused or lost connections.
func (p *project) gatewayRestart() {
	answered, failures := p.during(func() {
		p.compose("restart", "gateway")
		p.healthy(p.ids("gateway")...)
	})
	p.T.Logf("%d requests around the restart of the gateway, %d without a connection", answered, len(failures))
	for _, err := range failures {
		if _, ok := errors.AsType[*url.Error](err); !ok {
			p.T.Error(err)
		}
	}
}

// crash kills the processes of containers from inside, so that the engine starts them again.
func (p *project) crash(services []string) {
	p.T.Helper()
	ids := p.ids(services...)
	started, pids := p.each(ids, "{{.State.StartedAt}}"), p.each(ids, "{{.State.Pid}}")
	p.run("docker", append([]string{"run", "--rm", "--pid", "host", "--user", "0", "--entrypoint", "kill",
		"nats:2.15-alpine", "-9"}, pids...)...)
	p.eventually("all are started again", func() bool {
		for i, at := range p.each(ids, "{{.State.StartedAt}}") {
			if at == started[i] {
				return false
			}
		}
		return true
	})
	p.healthy(ids...)
}

// Killed containers start again, and no import that was answered is lost.
func (p *project) crashes() {
	p.up(scaled(1)...)
	for _, killed := range [][]string{{"nats"}, {"postgres"}, append([]string{"gateway"}, scalable...)} {
		answered := p.importsDuring(killed[0], func() { p.crash(killed) })
		for _, id := range answered {
			if state := p.State(id); state != "USER_STATE_INITIAL" {
				p.T.Errorf("%s after %s was killed: %v", id, killed, state)
			}
		}
		p.Mail(answered[len(answered)-1] + "@example.com")
	}
}

// importsDuring imports while something happens, and after it until one more succeeds. It returns
// the answered imports.
func (p *project) importsDuring(name string, what func()) (answered []string) {
	tried := 0
	try := func() bool {
		id := fmt.Sprintf("%s%d", name, tried)
		tried++
		status, _, err := p.Try("POST", "/management/v1/users/human/_import", whole.Person(id))
		if err == nil && status == http.StatusOK {
			answered = append(answered, id)
			return true
		}
		return false
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				try()
			}
		}
	}()
	what()
	close(stop)
	<-stopped
	for deadline := time.Now().Add(time.Minute); !try(); {
		if time.Now().After(deadline) {
			p.T.Fatalf("no import succeeds after %s was killed", name)
		}
	}
	return answered
}

// After an upgrade with a new service, the volumes of the older version have neither its database nor
// its NATS user.
func (p *project) upgrade() {
	p.compose("exec", "postgres", "psql", "-q", "-U", "postgres", "-c", "drop database herald_text with (force)",
		"-c", "drop role herald_text")
	old := `sed -i 's/user: "text", password: "[^"]*"/user: "text", password: "old"/' /users/users.conf`
	p.run("docker", "run", "--rm", "--user", "0", "--volume", os.Getenv("COMPOSE_PROJECT_NAME")+"_nats-users:/users",
		"--entrypoint", "sh", "nats:2.15-alpine", "-c", old)
	p.compose("restart", "nats")
	if err := p.ask("text"); err == nil {
		p.T.Fatal("the old version has the new service")
	}
	next := exec.CommandContext(p.T.Context(), "docker", "build", "--quiet", "--tag", os.Getenv("IMAGE"), "-")
	next.Env, next.Stdin = p.Env, strings.NewReader("FROM "+os.Getenv("IMAGE")+"\nLABEL version=next\n")
	if out, err := next.CombinedOutput(); err != nil {
		p.T.Fatalf("%v: %s", err, out)
	}
	p.up()
	for _, s := range scalable {
		if err := p.ask(s); err != nil {
			p.T.Error(err)
		}
	}
	p.Import("upgraded")
	if out := p.compose("exec", "users", "herald", "replay", "users"); !strings.Contains(out,
		"events will be published again") {
		p.T.Errorf("replay says %s", out)
	}
}

// A backup brings back what is there, and not what came after it.
func (p *project) backup() {
	file := p.T.TempDir() + "/herald.backup"
	p.run("sh", "-c", "docker compose exec -T users herald backup - > "+file)
	p.Import("lost")
	p.run("docker", append([]string{"compose", "stop", "gateway"}, services.Names()...)...)
	out := p.run("sh", "-c", "docker compose run --rm -T --no-deps users restore --replace --keep-keys - < "+file)
	if !strings.Contains(out, "start Herald now") {
		p.T.Errorf("the restore says %s", out)
	}
	p.up()
	if state := p.State("upgraded"); state != "USER_STATE_INITIAL" {
		p.T.Errorf("who was there before the backup has the state %s", state)
	}
	if status, _ := p.Call("GET", "/management/v1/users/lost", ""); status != http.StatusNotFound {
		p.T.Errorf("who came after the backup is answered with %d", status)
	}
}

// After down and up people, passwords, the token and mails are still there.
func (p *project) downAndUp() {
	p.down()
	if left := p.ids(); len(left) > 0 {
		p.T.Errorf("down leaves %v", left)
	}
	p.up()
	p.run("docker", "compose", "-f", "docker-compose.yml", "-f", "deploy/compose/mails.yml", "up",
		"--detach", "--wait", "mailpit")
	if token := p.compose("exec", "users", "herald", "admin-pat"); token != p.Token {
		p.T.Error("the token is another")
	}
	if state := p.State("mini-mouse"); state != "USER_STATE_ACTIVE" {
		p.T.Errorf("state %s", state)
	}
	if mail := p.Mail("mini@example.com"); cmp.Or(mail.Subject, mail.Text) == "" {
		p.T.Error("the mail is empty")
	}
	p.Import("again")
	p.Mail("again@example.com")
}

// removal checks that nothing of the project is left.
func (p *project) removal() {
	p.down("--volumes")
	label := "label=com.docker.compose.project=" + os.Getenv("COMPOSE_PROJECT_NAME")
	kinds := [][]string{{"ps", "--all"}, {"volume", "ls"}}
	if !p.held {
		kinds = append(kinds, []string{"network", "ls"})
	}
	for _, kind := range kinds {
		if left := p.run("docker", append(kind, "--quiet", "--filter", label)...); left != "" {
			p.T.Errorf("%v: %s", kind, left)
		}
	}
}
