package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// limit is how long a server may take to start or to have all data of the others.
const limit = 2 * time.Minute

// cluster is Herald on three machines: a NATS server on each, a Postgres on the first with a standby on the second that
// has every answered write, etcd on the third, and each service and the gateway on the first two.
type cluster struct {
	*whole.Processes
	network  network
	postgres *pair
	mails    *outside.MailServer
	gateways []string
	replicas []*replica
	nodes    []node
	program  string // of a NATS server
	routes   string
}

// replica is one of the two processes of a service, or of the gateway.
type replica struct {
	name string // with its number
	run  func() *exec.Cmd
	*exec.Cmd
}

// node is the addresses of a NATS server.
type node struct {
	whole.Machine
	name, client, route, health string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	n := newNetwork(t, 3)
	mails := outside.StartMailServer(t, outside.MailConfig{Host: n.Address})
	c := &cluster{Processes: whole.NewProcesses(t, mails.URL()), network: n, mails: mails}
	c.startNATS()
	c.postgres = c.startPair()
	var nodes []string
	for _, n := range c.nodes {
		nodes = append(nodes, "nats://"+n.client)
	}
	databases := exec.Command(c.Program, "databases")
	databases.Env = append(c.Env, "HERALD_DATABASE_URL="+c.postgres.superuser())
	if out, err := databases.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.Env = append(c.Env, "HERALD_LOG_LEVEL=WARN", "HERALD_TRUSTED_PROXIES="+n.Address, "HERALD_NATS_REPLICAS=3",
		"HERALD_NATS_URL="+strings.Join(nodes, ","), "HERALD_DATABASE_URL="+c.postgres.url(""))
	c.startReplicas()
	c.ReadToken()
	return c
}

// startReplicas runs two processes of each service and of the gateway.
func (c *cluster) startReplicas() {
	c.T.Helper()
	for n, m := range c.network.machines[:2] {
		for _, service := range services.Names() {
			c.replicas = append(c.replicas, &replica{name: fmt.Sprintf("%s-%d", service, n+1),
				run: func() *exec.Cmd { return c.StartOn(m, service) }})
		}
		address := m.FreeAddress(c.T)
		c.gateways = append(c.gateways, "http://"+address)
		c.replicas = append(c.replicas, &replica{name: fmt.Sprintf("gateway-%d", n+1),
			run: func() *exec.Cmd { return c.StartOn(m, "gateway", "HERALD_LISTEN="+address) }})
	}
	c.replicas[0].Cmd = c.replicas[0].run() // users makes the administrator
	var starting sync.WaitGroup
	for _, r := range c.replicas[1:] {
		starting.Go(func() { r.Cmd = r.run() })
	}
	starting.Wait()
	if c.T.Failed() {
		c.T.FailNow()
	}
}

// kill kills a replica.
func (c *cluster) kill(r *replica) {
	c.T.Helper()
	if err := r.Process.Kill(); err != nil {
		c.T.Fatal(err)
	}
	_ = r.Wait() // says that it was killed
}

// startNATS runs three NATS servers with the configuration of deploy/cluster in place of the one in this process.
func (c *cluster) startNATS() {
	c.T.Helper()
	c.StopNATS()
	c.program = filepath.Join(whole.Root(c.T), ".build", "test", "nats-server")
	build := exec.Command("go", "build", "-o", c.program, "github.com/nats-io/nats-server/v2")
	if out, err := build.CombinedOutput(); err != nil {
		c.T.Fatalf("%v: %s", err, out)
	}
	// The users are those of `herald secrets`.
	if err := os.Symlink(c.Dir+"/secrets/nats", c.Dir+"/users"); err != nil {
		c.T.Fatal(err)
	}
	shipped := whole.File(c.T, "deploy/cluster/nats.conf")
	var routes []string
	for n, m := range c.network.machines {
		c.nodes = append(c.nodes, node{
			m, fmt.Sprint("nats-", n+1), m.FreeAddress(c.T), m.FreeAddress(c.T), m.FreeAddress(c.T),
		})
		own := strings.NewReplacer("store_dir: /data", "store_dir: "+strconv.Quote(c.Dir+"/"+c.nodes[n].name),
			"127.0.0.1:8222", c.nodes[n].health).Replace(shipped)
		if err := os.WriteFile(c.Dir+"/"+c.nodes[n].name+".conf", []byte(own), 0o600); err != nil {
			c.T.Fatal(err)
		}
		routes = append(routes, "nats://route:"+routePassword+"@"+c.nodes[n].route)
	}
	c.routes = strings.Join(routes, ",")
	for _, n := range c.nodes {
		c.startNode(n)
	}
	for _, n := range c.nodes {
		c.healthy(n)
	}
}

const routePassword = "routes-of-the-test"

// startNode runs a NATS server, which need not be ready yet.
func (c *cluster) startNode(n node) {
	c.T.Helper()
	host, port, _ := strings.Cut(n.client, ":")
	command := exec.Command(c.program, "-c", c.Dir+"/"+n.name+".conf", "--name", n.name, "--addr", host, "--port", port,
		"--routes", c.routes, "--cluster", "nats://route:"+routePassword+"@"+n.route)
	command.Env = append(os.Environ(), "NATS_ROUTE_PASSWORD="+routePassword)
	log, err := os.OpenFile(c.Dir+"/"+n.name+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		c.T.Fatal(err)
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if err := n.Start(command); err != nil {
		c.T.Fatal(err)
	}
	c.Keep(n.name, command)
}

// healthy waits until a NATS server has all messages of the streams that the others have.
func (c *cluster) healthy(n node) {
	c.T.Helper()
	c.until(n.name+" has all messages", func(ctx context.Context) bool {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.health+"/healthz", nil)
		if err != nil {
			return false
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		_ = w.Body.Close()
		return w.StatusCode == http.StatusOK
	})
}

// until asks again and again whether something is so, because the servers send no signal to other processes.
func (c *cluster) until(what string, so func(context.Context) bool) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.T.Context(), limit)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !so(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.T.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// query returns the texts that a query finds.
func query(t testing.TB, db *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// setting returns the only answer of the Postgres of p.
func setting(p *whole.Processes, sql string) string {
	p.T.Helper()
	return query(p.T, whole.Database(p.T, p.Postgres, "users"), sql)[0]
}
