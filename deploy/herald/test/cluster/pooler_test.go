package cluster_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// pooler is where Debian's package has PgBouncer.
const pooler = "/usr/sbin/pgbouncer"

// Herald works through PgBouncer in session mode: services start, write, publish their events and are ready.
func TestPoolerInSessionMode(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Log("PgBouncer is tested as a package of Debian only")
		return
	}
	mails := outside.StartMailServer(t, outside.MailConfig{})
	p := whole.NewProcesses(t, mails.URL())
	p.Env = append(p.Env, "HERALD_DATABASE_URL=postgres://"+startPooler(p)+"/?sslmode=disable")
	p.StartAll()
	for n := range 20 {
		p.Import(fmt.Sprint("user-", n))
	}
	p.Must(http.MethodPost, "/management/v1/projects", `{"name":"Shop"}`)
	if _, err := mails.Wait(t.Context(), 20); err != nil {
		t.Error(err)
	}
	if causes := p.Unready(); len(causes) > 0 {
		t.Error(causes)
	}
}

// own are the settings of PgBouncer that differ from place to place.
const own = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = %s
listen_port = %s
auth_file = %s/users.txt
`

// startPooler starts PgBouncer before the Postgres of p, and returns its address.
func startPooler(p *whole.Processes) string {
	p.T.Helper()
	server, err := url.Parse(p.Postgres.TCP())
	if err != nil {
		p.T.Fatal(err)
	}
	users := query(p.T, whole.Database(p.T, p.Postgres, "users"),
		`select format('"%s" "%s"', rolname, rolpassword) from pg_authid where rolpassword is not null`)
	address, dir := whole.FreeAddress(p.T), whole.Dir(p.T)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		p.T.Fatal(err)
	}
	for name, text := range map[string]string{
		"users.txt": strings.Join(users, "\n") + "\n",
		"pgbouncer.ini": fmt.Sprintf(own, server.Hostname(), server.Port(), host, port, dir) +
			whole.File(p.T, "deploy/cluster/pgbouncer.ini"),
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
			p.T.Fatal(err)
		}
	}
	args := []string{dir + "/pgbouncer.ini"}
	if os.Geteuid() == 0 {
		args = append([]string{"--user=postgres"}, args...)
	}
	logs := &testkit.Lines{}
	c := exec.Command(pooler, args...)
	c.Stderr = logs
	if err := c.Start(); err != nil {
		p.T.Fatalf("%v: type: deploy/setup.sh clients", err)
	}
	p.Keep("pooler", c)
	logs.Wait(p.T, "process up")
	return address
}
