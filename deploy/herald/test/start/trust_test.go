package start_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit"
)

// With one setting all connections to Postgres and NATS use TLS, and a server with another certificate is refused.
func TestConnectionsUseTLS(t *testing.T) {
	t.Parallel()
	p := whole.NewProcesses(t, "smtp://127.0.0.1:1")
	dir := whole.Dir(t)
	cert := testkit.NewServedCertificate(t, dir, time.Now().Add(time.Hour))
	encrypt(t, p, cert)
	listening := serveTLS(t, p, cert)
	nats := listening.Addr().String()
	p.Env = append(p.Env, "HERALD_NATS_URL=nats://"+nats,
		"HERALD_DATABASE_URL="+strings.Split(databaseURL(t, p.Env), "?")[0], "HERALD_CA_FILE="+cert.Cert)
	p.StartAll()
	p.Import("mini")
	if out, says, code := p.Herald("", "replay", "users"); code != 0 {
		t.Errorf("replay ended with %d and said %q %q", code, out, says)
	}
	if out, says, code := p.Herald("", "dead", "list"); code != 0 || out != "no dead letters\n" {
		t.Errorf("dead list ended with %d and said %q %q", code, out, says)
	}
	var all, encrypted int
	err := whole.Database(t, p.Postgres, "users").QueryRow(t.Context(), `select count(*), count(*) filter (where s.ssl)
		from pg_stat_activity a join pg_stat_ssl s using (pid) where usename like 'herald_%'`).Scan(&all, &encrypted)
	if err != nil || encrypted != all || all < 6 {
		t.Errorf("%d of %d connections to Postgres are encrypted, %v", encrypted, all, err)
	}
	seen, err := listening.Connz(&server.ConnzOptions{})
	if err != nil || len(seen.Conns) < 7 {
		t.Fatalf("NATS has the connections %v, %v", seen, err)
	}
	for _, c := range seen.Conns {
		if c.TLSVersion == "" {
			t.Errorf("the connection %s to NATS is not encrypted", c.Name)
		}
	}
	p.Kill("text")
	other := testkit.NewServedCertificate(t, whole.Dir(t), time.Now().Add(time.Hour))
	for name, settings := range map[string][]string{
		"certificate signed by unknown authority": {"HERALD_CA_FILE=" + other.Cert},
		"sslmode=disable":                         {"HERALD_DATABASE_URL=" + databaseURL(t, p.Env[:len(p.Env)-2])},
	} {
		refused := *p.Instance
		refused.Env = append(p.Env[:len(p.Env):len(p.Env)], settings...)
		if _, says, code := refused.Herald("", "text"); code != 1 || !strings.Contains(says, name) {
			t.Errorf("with %q a service ended with %d and said %q", settings, code, says)
		}
	}
}

// databaseURL returns the last setting of the database's URL.
func databaseURL(t *testing.T, env []string) (found string) {
	t.Helper()
	for _, setting := range env {
		if value, is := strings.CutPrefix(setting, "HERALD_DATABASE_URL="); is {
			found = value
		}
	}
	return found
}

// encrypt makes Postgres refuse connections of services without TLS.
func encrypt(t *testing.T, p *whole.Processes, cert testkit.ServedCertificate) {
	t.Helper()
	db := whole.Database(t, p.Postgres, "users")
	var data string
	if err := db.QueryRow(t.Context(), `select current_setting('data_directory')`).Scan(&data); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	for name, file := range map[string]string{"server.crt": cert.Cert, "server.key": cert.Key} {
		text, err := os.ReadFile(file)
		to := filepath.Join(data, name)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err == nil && os.Geteuid() == 0 { // then Postgres runs as another user
			err = os.Chown(to, int(owner.Uid), int(owner.Gid))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{`alter system set ssl = on`, `select pg_reload_conf()`} {
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// serveTLS runs a NATS server that takes only TLS, with the users of the secrets.
func serveTLS(t *testing.T, p *whole.Processes, cert testkit.ServedCertificate) *server.Server {
	t.Helper()
	dir := p.Dir + "/secrets/nats"
	config := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: %q\nmax_payload: 8MB\njetstream { store_dir: %q }\n"+
		"tls { cert_file: %q, key_file: %q }\nauthorization { include users.conf }\n", "127.0.0.1:-1", dir+"/streams",
		cert.Cert, cert.Key)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(config)
	if err != nil {
		t.Fatal(err)
	}
	options.NoLog, options.NoSigs = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	return s
}
