package backup_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// moment is a system and what it was at a moment, to which its databases are brought back. At the moment, projects had
// not handled the removal of an organization, which it did later. NATS keeps its streams.
type moment struct {
	*whole.Processes
	mails *outside.MailServer
	org   string // the removed one
}

// before starts a system, lets take note the moment, and goes on. It returns when all processes are killed.
func before(t *testing.T, prepare func(*whole.Processes), take func()) *moment {
	t.Helper()
	mails := outside.StartMailServer(t, outside.MailConfig{})
	m := &moment{Processes: whole.NewProcesses(t, mails.URL()), mails: mails}
	prepare(m.Processes)
	m.StartAll()
	m.Import("kept")
	m.org = m.Must(http.MethodPost, "/management/v1/orgs", `{"name":"gone"}`)["id"].(string)
	m.Org = m.org
	m.Must(http.MethodPost, "/management/v1/projects", `{"name":"p"}`)
	m.projects(1)
	m.Kill("projects")
	m.Must(http.MethodDelete, "/management/v1/orgs/me", "")
	m.Org = ""
	m.wait(1)
	m.published()
	take()
	m.Start("projects")
	m.projects(0)
	m.Import("lost")
	m.wait(2)
	m.KillAll()
	return m
}

// until waits until a query has an answer.
func (m *moment) until(service, sql string, want int) {
	m.T.Helper()
	db := whole.Database(m.T, m.Postgres, service)
	defer db.Close(m.T.Context())
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Minute); ; <-tick.C {
		var n int
		if err := db.QueryRow(m.T.Context(), sql).Scan(&n); err != nil {
			m.T.Fatal(err)
		}
		if n == want {
			return
		}
		if time.Now().After(end) {
			m.T.Fatalf("%s has %d, want %d: %s", service, n, want, sql)
		}
	}
}

func (m *moment) projects(want int) {
	m.T.Helper()
	m.until("projects", fmt.Sprintf(`select count(*) from projects where org_id = '%s'`, m.org), want)
}

func (m *moment) published() {
	m.T.Helper()
	m.until("users", `select count(*) from outbox`, 0)
}

func (m *moment) wait(mails int) {
	m.T.Helper()
	if _, err := m.mails.Wait(m.T.Context(), mails); err != nil {
		m.T.Fatal(err)
	}
}

// after starts the system. projects handles the removal again, what came after the moment is nowhere, and nobody gets a
// mail twice.
func (m *moment) after(out, says string, code int) {
	m.T.Helper()
	if code != 0 || !strings.HasSuffix(out, "start Herald now; subscribers get the events of the last 7 days again\n") {
		m.T.Fatalf("ended with %d and said %q %q", code, out, says)
	}
	m.StartAll()
	m.projects(0)
	m.State("kept")
	if status, _ := m.Call(http.MethodGet, "/management/v1/users/lost", ""); status != http.StatusNotFound {
		m.T.Errorf("a user who came after the moment is answered with %d", status)
	}
	m.Import("later")
	m.wait(3)
	to := map[string]int{}
	all, err := m.mails.Wait(m.T.Context(), 3)
	if err != nil {
		m.T.Fatal(err)
	}
	for _, mail := range all {
		if to[mail.To[0]]++; to[mail.To[0]] > 1 {
			m.T.Errorf("%s got a mail twice", mail.To[0])
		}
	}
}

// A backup is restored over a system whose NATS has gone on.
func TestRestoreBesideNewerStreams(t *testing.T) {
	t.Parallel()
	file := filepath.Join(whole.Dir(t), "herald.backup")
	var p *whole.Processes
	m := before(t, func(started *whole.Processes) { p = started }, func() {
		if _, says, code := p.Herald("", "backup", file); code != 0 {
			t.Fatalf("the backup ends with %d and says %q", code, says)
		}
	})
	m.after(m.Herald("", "restore", "--replace", "--keep-keys", file))
}

// pgBackRest brings Postgres back to a moment.
func TestRecoveryToAMoment(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Log("pgBackRest is tested as a package of Debian only")
		return
	}
	var a *archive
	m := before(t, func(p *whole.Processes) { a = startArchive(p) }, func() {
		a.exec(`select pg_create_restore_point('moment')`)
	})
	a.shutDown()
	a.run("restore", "--delta", "--type=name", "--target=moment", "--target-action=promote")
	if err := m.Postgres.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, says, code := m.Herald("", "recovered", "--keep-keys"); code != 0 &&
		!strings.Contains(says, "still in recovery") {
		t.Errorf("during the recovery it ends with %d and says %q", code, says)
	}
	m.until("users", `select pg_is_in_recovery()::int`, 0)
	m.after(m.Herald("", "recovered", "--keep-keys"))
}

// archive is a Postgres whose write-ahead log goes to pgBackRest.
type archive struct {
	*whole.Processes
	data, config string
	as           *syscall.Credential
}

func startArchive(p *whole.Processes) *archive {
	p.T.Helper()
	dir := whole.Dir(p.T)
	a := &archive{Processes: p, config: dir + "/pgbackrest.conf"}
	db := whole.Database(p.T, p.Postgres, "users")
	var port, sockets string
	err := db.QueryRow(p.T.Context(), `select current_setting('data_directory'), current_setting('port'),
		current_setting('unix_socket_directories')`).Scan(&a.data, &port, &sockets)
	if err != nil {
		p.T.Fatal(err)
	}
	_ = db.Close(p.T.Context())
	info, err := os.Stat(a.data)
	if err != nil {
		p.T.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t); os.Geteuid() == 0 {
		a.as = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	for _, name := range []string{"repository", "lock", "spool"} {
		if err := os.Mkdir(dir+"/"+name, 0o777); err != nil {
			p.T.Fatal(err)
		}
		if err := os.Chmod(dir+"/"+name, 0o777); err != nil {
			p.T.Fatal(err)
		}
	}
	server, err := url.Parse(p.Postgres.URL())
	if err != nil {
		p.T.Fatal(err)
	}
	text := fmt.Sprintf("[global]\nrepo1-path=%[1]s/repository\nlock-path=%[1]s/lock\nspool-path=%[1]s/spool\n"+
		"log-level-file=off\nstart-fast=y\narchive-timeout=60\n[herald]\npg1-path=%[2]s\npg1-port=%[3]s\n"+
		"pg1-socket-path=%[4]s\npg1-user=%[5]s\n", dir, a.data, port, sockets, server.User.Username())
	if err := os.WriteFile(a.config, []byte(text), 0o644); err != nil {
		p.T.Fatal(err)
	}
	a.exec(`alter system set archive_mode = on`)
	a.exec(fmt.Sprintf(`alter system set archive_command = 'pgbackrest --config=%s --stanza=herald archive-push %%p'`,
		a.config))
	a.shutDown()
	if err := p.Postgres.Restart(p.T.Context()); err != nil {
		p.T.Fatal(err)
	}
	a.run("stanza-create")
	a.run("backup", "--type=full")
	return a
}

func (a *archive) exec(sql string) {
	a.T.Helper()
	db := whole.Database(a.T, a.Postgres, "users")
	defer db.Close(a.T.Context())
	if _, err := db.Exec(a.T.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		a.T.Fatal(err)
	}
}

// shutDown ends Postgres as pg_ctl does.
func (a *archive) shutDown() {
	a.T.Helper()
	if _, err := whole.SignalPostmaster(a.data, syscall.SIGINT); err != nil {
		a.T.Fatal(err)
	}
	_ = a.Postgres.Wait(a.T.Context())
}

// run runs pgBackRest as the user of Postgres.
func (a *archive) run(args ...string) {
	a.T.Helper()
	c := exec.CommandContext(a.T.Context(), "pgbackrest", append([]string{
		"--config=" + a.config, "--stanza=herald"}, args...)...)
	server, err := url.Parse(a.Postgres.URL())
	if err != nil {
		a.T.Fatal(err)
	}
	password, _ := server.User.Password()
	c.Dir, c.Env = "/", append(os.Environ(), "PGPASSWORD="+password)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: a.as}
	if out, err := c.CombinedOutput(); err != nil {
		a.T.Fatalf("%v; type: deploy/setup.sh clients: %s", err, out)
	}
}
