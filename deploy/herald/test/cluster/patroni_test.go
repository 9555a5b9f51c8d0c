package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres"
	"herald/shared/testkit"
)

// pair is a Postgres and its standby, which Patroni runs with the settings of deploy/cluster.
type pair struct {
	*cluster
	etcd  string
	nodes []database
}

// database is a Postgres with its Patroni.
type database struct {
	whole.Machine
	name, address, rest, dir string
}

const databasePassword = "databases-of-the-test"

// startPair runs etcd and two nodes. It returns when the second node has every answered write of the first.
func (c *cluster) startPair() *pair {
	c.T.Helper()
	third := c.network.machines[2]
	p := &pair{cluster: c, etcd: third.FreeAddress(c.T)}
	peer := "http://" + third.FreeAddress(c.T)
	p.run(third, "etcd", exec.Command("etcd", "--data-dir", c.Dir+"/etcd", "--log-level", "error",
		"--listen-client-urls", "http://"+p.etcd, "--advertise-client-urls", "http://"+p.etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer))
	for n, m := range c.network.machines[:2] {
		d := database{m, fmt.Sprint("pg-", n+1), m.FreeAddress(c.T), m.FreeAddress(c.T), whole.Dir(c.T)}
		p.nodes = append(p.nodes, d)
		p.startNode(d)
		c.until(d.name+" is there", func(ctx context.Context) bool {
			return d.is(ctx, []string{"primary", "synchronous"}[n])
		})
	}
	return p
}

// run runs a program.
func (p *pair) run(m whole.Machine, name string, command *exec.Cmd) {
	p.T.Helper()
	log := &testkit.Lines{}
	command.Stdout, command.Stderr = log, log
	command.WaitDelay = time.Second // Patroni's Postgres has the same outputs, and may live longer
	if err := m.Start(command); err != nil {
		p.T.Fatal(err)
	}
	p.Keep(name, command)
	p.T.Cleanup(func() {
		if p.T.Failed() {
			p.T.Logf("%s: %s", name, whole.Tail(bytes.NewBufferString(log.String())))
		}
	})
}

// startNode runs Patroni.
func (p *pair) startNode(d database) {
	p.T.Helper()
	settings := d.dir + "/patroni.yml"
	if err := os.WriteFile(settings, []byte(whole.File(p.T, "deploy/cluster/patroni.yml")), 0o644); err != nil {
		p.T.Fatal(err)
	}
	command := exec.Command("patroni", settings)
	if os.Getuid() == 0 { // as whom Postgres refuses to run
		if out, err := exec.Command("chown", "postgres:", d.dir).CombinedOutput(); err != nil {
			p.T.Fatalf("%v: %s", err, out)
		}
		command = exec.Command("setpriv", append([]string{"--reuid=postgres", "--regid=postgres", "--clear-groups"},
			command.Args...)...)
	}
	command.Dir = d.dir
	command.Env = append(os.Environ(), "HOME="+d.dir, "PATRONI_NAME="+d.name, "PATRONI_ETCD3_HOSTS="+p.etcd,
		"PATRONI_RESTAPI_LISTEN="+d.rest, "PATRONI_RESTAPI_CONNECT_ADDRESS="+d.rest,
		"PATRONI_POSTGRESQL_LISTEN="+d.address, "PATRONI_POSTGRESQL_CONNECT_ADDRESS="+d.address,
		"PATRONI_POSTGRESQL_DATA_DIR="+d.dir+"/data", "PATRONI_POSTGRESQL_PGPASS="+d.dir+"/pgpass",
		"PATRONI_POSTGRESQL_BIN_DIR="+setting(p.Processes, "select setting from pg_config where name = 'BINDIR'"),
		"PATRONI_SUPERUSER_USERNAME=postgres", "PATRONI_SUPERUSER_PASSWORD="+databasePassword,
		"PATRONI_REPLICATION_USERNAME=replicator", "PATRONI_REPLICATION_PASSWORD="+databasePassword)
	p.T.Cleanup(func() { _ = d.kill() }) // after Patroni, which would start it again
	p.run(d.Machine, d.name, command)
}

// is reports whether a node has a role now: primary or synchronous.
func (d database) is(ctx context.Context, role string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.rest+"/"+role, nil)
	if err != nil {
		return false
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_ = w.Body.Close()
	return w.StatusCode == http.StatusOK
}

// kill kills the Postgres of a node. All its processes end with it.
func (d database) kill() error {
	_, err := whole.SignalPostmaster(filepath.Join(d.dir, "data"), syscall.SIGKILL)
	return err
}

// url is the address of whichever node takes changes now.
func (p *pair) url(account string) string {
	return "postgres://" + account + p.nodes[0].address + "," + p.nodes[1].address +
		"/?sslmode=disable&target_session_attrs=read-write"
}

// superuser is the address with which databases are made.
func (p *pair) superuser() string { return p.url("postgres:" + databasePassword + "@") }

// complete waits until a node is the primary and the other one has every answered write.
func (p *pair) complete() (primary, standby database) {
	p.T.Helper()
	primary, standby = p.nodes[0], p.nodes[1]
	p.until("a node is the primary and the other one its standby", func(ctx context.Context) bool {
		if standby.is(ctx, "primary") { // since a partition
			primary, standby = standby, primary
		}
		return primary.is(ctx, "primary") && standby.is(ctx, "synchronous")
	})
	return primary, standby
}

// failOver kills the primary. It returns how long it takes until Patroni has made the other node the primary.
func (p *pair) failOver() time.Duration {
	p.T.Helper()
	primary, standby := p.complete()
	if err := primary.kill(); err != nil {
		p.T.Fatal(err)
	}
	began := time.Now()
	p.until(standby.name+" is the primary", func(ctx context.Context) bool { return standby.is(ctx, "primary") })
	return time.Since(began)
}

// column returns the values of a query in the database of a service.
func (p *pair) column(service, sql string) map[string]bool {
	p.T.Helper()
	config, err := pgx.ParseConfig(p.superuser())
	if err != nil {
		p.T.Fatal(err)
	}
	config.Database = postgres.Name(service)
	db, err := pgx.ConnectConfig(p.T.Context(), config)
	if err != nil {
		p.T.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(p.T.Context()))
	there := map[string]bool{}
	for _, value := range query(p.T, db, sql) {
		there[value] = true
	}
	return there
}
