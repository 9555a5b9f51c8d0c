package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres"
)

// pair is a Postgres and its standby, which Patroni runs with the settings of deploy/cluster.
type pair struct {
	*cluster
	etcd  string
	nodes []database
	owner *syscall.Credential // of the files; nil for that of the test
}

// database is a Postgres with its Patroni.
type database struct{ name, address, rest, dir string }

const databasePassword = "databases-of-the-test"

// startPair runs etcd and two nodes. It returns when the second node has every answered write of the first.
func (c *cluster) startPair() *pair {
	c.T.Helper()
	p := &pair{cluster: c, etcd: whole.FreeAddress(c.T)}
	if os.Getuid() == 0 {
		p.owner = ownerOfServers(c)
	}
	peer := "http://" + whole.FreeAddress(c.T)
	p.run("etcd", exec.Command("etcd", "--data-dir", c.Dir+"/etcd", "--log-level", "error",
		"--listen-client-urls", "http://"+p.etcd, "--advertise-client-urls", "http://"+p.etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer))
	for n := range 2 {
		d := database{fmt.Sprint("pg-", n+1), whole.FreeAddress(c.T), whole.FreeAddress(c.T), whole.Dir(c.T)}
		p.nodes = append(p.nodes, d)
		p.startNode(d)
		c.until(d.name+" is there", func(ctx context.Context) bool {
			return d.is(ctx, []string{"primary", "synchronous"}[n])
		})
	}
	return p
}

// ownerOfServers is who runs Postgres, which refuses to run as root.
func ownerOfServers(c *cluster) *syscall.Credential {
	c.T.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		c.T.Fatal(err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		c.T.Fatal(err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		c.T.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// run runs a program whose output goes into a file.
func (p *pair) run(name string, command *exec.Cmd) {
	p.T.Helper()
	log, err := os.Create(p.Dir + "/" + name + ".log")
	if err != nil {
		p.T.Fatal(err)
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		p.T.Fatal(err)
	}
	p.Keep(name, command)
}

// startNode runs Patroni.
func (p *pair) startNode(d database) {
	p.T.Helper()
	settings := d.dir + "/patroni.yml"
	if err := os.WriteFile(settings, []byte(whole.File(p.T, "deploy/cluster/patroni.yml")), 0o644); err != nil {
		p.T.Fatal(err)
	}
	command := exec.Command("patroni", settings)
	command.Dir = d.dir
	if p.owner != nil {
		if err := os.Chown(d.dir, int(p.owner.Uid), int(p.owner.Gid)); err != nil {
			p.T.Fatal(err)
		}
		command.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	}
	command.Env = append(os.Environ(), "HOME="+d.dir, "PATRONI_NAME="+d.name, "PATRONI_ETCD3_HOSTS="+p.etcd,
		"PATRONI_RESTAPI_LISTEN="+d.rest, "PATRONI_RESTAPI_CONNECT_ADDRESS="+d.rest,
		"PATRONI_POSTGRESQL_LISTEN="+d.address, "PATRONI_POSTGRESQL_CONNECT_ADDRESS="+d.address,
		"PATRONI_POSTGRESQL_DATA_DIR="+d.dir+"/data", "PATRONI_POSTGRESQL_PGPASS="+d.dir+"/pgpass",
		"PATRONI_POSTGRESQL_BIN_DIR="+setting(p.Processes, "select setting from pg_config where name = 'BINDIR'"),
		"PATRONI_SUPERUSER_USERNAME=postgres", "PATRONI_SUPERUSER_PASSWORD="+databasePassword,
		"PATRONI_REPLICATION_USERNAME=replicator", "PATRONI_REPLICATION_PASSWORD="+databasePassword)
	p.T.Cleanup(func() { _ = d.kill() }) // after Patroni, which would start it again
	p.run(d.name, command)
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
	file, err := os.ReadFile(filepath.Join(d.dir, "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(file), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// url is the address of whichever node takes changes now.
func (p *pair) url(account string) string {
	return "postgres://" + account + p.nodes[0].address + "," + p.nodes[1].address +
		"/?sslmode=disable&target_session_attrs=read-write"
}

// superuser is the address with which databases are made.
func (p *pair) superuser() string { return p.url("postgres:" + databasePassword + "@") }

// failOver kills the primary. It returns how long it takes until Patroni has made the other node the primary.
func (p *pair) failOver() time.Duration {
	p.T.Helper()
	primary, standby := p.nodes[0], p.nodes[1]
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
