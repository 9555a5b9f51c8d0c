package setup_test

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// machine simulates a machine: setup.sh finds only the programs in its bin directory and looks for
// files below its root.
type machine struct {
	t         *testing.T
	bin, root string
	env       []string
}

const configuration = "etc/postgresql-common/createcluster.conf"

// newMachine returns a machine with Go, the usual programs and root's rights.
func newMachine(t *testing.T) machine {
	t.Parallel()
	m := machine{t: t, bin: t.TempDir(), root: t.TempDir()}
	m.env = []string{"PATH=" + m.bin, "SETUP_ROOT=" + m.root, "CALLS=" + m.calls()}
	for _, name := range []string{"cat", "chmod", "env", "grep", "mkdir", "rm", "sed", "tee", "uname"} {
		found, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(found, filepath.Join(m.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	m.program("go", `echo go version go1.26.8 linux/amd64`)
	m.program("id", `echo 0`)
	m.program("openssl", "")
	return m
}

func (m machine) calls() string { return filepath.Join(m.root, "calls") }

func (m machine) file(path, text string, mode fs.FileMode) {
	m.t.Helper()
	path = filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	m.write(path, text, mode)
}

// write writes a file that nothing that is started meanwhile has open too: a program that is open for writing
// does not start.
func (m machine) write(path, text string, mode fs.FileMode) {
	m.t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) program(name, script string) {
	m.t.Helper()
	m.write(filepath.Join(m.bin, name), "#!/bin/sh\n"+script+"\n", 0o755)
}

func (m machine) postgres(dir, version string) {
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
	m.file(filepath.Join(dir, "initdb"), script, 0o755)
	m.file(filepath.Join(dir, "postgres"), script, 0o755)
}

// debian adds an apt-get that records its calls and installs packages, and an apt-cache with these
// candidates.
func (m machine) debian(candidates map[string]string) {
	var policy strings.Builder
	policy.WriteString("case $2 in\n")
	for _, name := range slices.Sorted(maps.Keys(candidates)) {
		policy.WriteString(name + ") echo '  Candidate: " + candidates[name] + "' ;;\n")
	}
	m.program("apt-cache", policy.String()+"esac")
	m.program("apt-get", `
echo "apt-get $*" >>"$CALLS"
conf=$SETUP_ROOT/`+configuration+`
for last; do :; done
case $last in
postgresql-common)
	mkdir -p "${conf%/*}"
	[ -e "$conf" ] || echo '#create_main_cluster = true' >"$conf" ;;
postgresql)
	! grep -q '^create_main_cluster = false' "$conf" || echo 'without a cluster' >>"$CALLS"
	bin=$SETUP_ROOT/usr/lib/postgresql/15/bin
	mkdir -p "$bin"
	for name in initdb postgres; do
		printf '#!/bin/sh\necho "postgres (PostgreSQL) 15.18"\n' >"$bin/$name"
		chmod +x "$bin/$name"
	done ;;
openssl) printf '#!/bin/sh\n' >"${0%/*}/openssl"; chmod +x "${0%/*}/openssl" ;;
chromium) printf '#!/bin/sh\n' >"${0%/*}/chromium"; chmod +x "${0%/*}/chromium" ;;
nodejs) printf '#!/bin/sh\necho v22.1.0\n' >"${0%/*}/node"; chmod +x "${0%/*}/node" ;;
oathtool) printf '#!/bin/sh\n' >"${0%/*}/oathtool"; chmod +x "${0%/*}/oathtool" ;;
esac`)
}

// setup runs the script and returns its output and whether it succeeded.
func (m machine) setup(what string) (printed string, content bool) {
	m.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", filepath.Join("..", "..", "..", "setup.sh"), what)
	cmd.Env, cmd.Stdout, cmd.Stderr = m.env, &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == 1) {
		m.t.Fatalf("%v: %s", err, out.String())
	}
	return out.String(), err == nil
}

// called returns the calls of apt-get and sudo.
func (m machine) called() []string {
	m.t.Helper()
	text, err := os.ReadFile(m.calls())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	short := strings.NewReplacer("install -qq --no-install-recommends", "install", "update -qq", "update",
		"env DEBIAN_FRONTEND=noninteractive ", "").Replace(string(text))
	return strings.Split(strings.TrimSpace(short), "\n")
}

func (m machine) wantCalls(want ...string) {
	m.t.Helper()
	if got := m.called(); !slices.Equal(got, want) {
		m.t.Errorf("called %q, want %q", got, want)
	}
}

func TestSetupIsSilentWhenNothingIsMissing(t *testing.T) {
	for name, dir := range map[string]string{
		"Debian": "usr/lib/postgresql/17/bin", "Fedora": "usr/pgsql-17/bin",
		"macOS": "opt/homebrew/opt/postgresql@17/bin",
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.debian(nil)
			m.postgres(dir, "17.2")
			m.program("google-chrome", "")
			m.program("oathtool", "")
			m.program("node", "echo v20.20.2")
			for _, what := range []string{"run", "test"} {
				if printed, content := m.setup(what); printed != "" || !content {
					t.Errorf("%s: content %v, printed %q", what, content, printed)
				}
			}
			m.wantCalls("")
		})
	}
}

func TestSetupInstallsPostgresWithoutCluster(t *testing.T) {
	m := newMachine(t)
	m.debian(map[string]string{"postgresql": "15+248+deb12u1"})
	if printed, content := m.setup("run"); !content ||
		printed != "setup: missing: postgresql. Installing with apt-get\n" {
		t.Errorf("content %v, printed %q", content, printed)
	}
	m.wantCalls("apt-get update", "apt-get install postgresql-common", "apt-get install postgresql",
		"without a cluster")
	if printed, content := m.setup("run"); !content || printed != "" {
		t.Errorf("again: content %v, printed %q", content, printed)
	}
}

func TestSetupInstallsAllForTests(t *testing.T) {
	m := newMachine(t)
	m.program("node", "echo v18.20.4")
	m.debian(map[string]string{"postgresql": "15+248", "chromium": "150.0-1", "nodejs": "22.1.0-1",
		"oathtool": "2.6.7-3.1"})
	if printed, content := m.setup("test"); !content {
		t.Errorf("not content: %s", printed)
	}
	m.wantCalls("apt-get update", "apt-get install postgresql-common", "apt-get install postgresql",
		"without a cluster", "apt-get install chromium", "apt-get install nodejs", "apt-get install oathtool")
}

func TestSetupInstallsOpenSSL(t *testing.T) {
	m := newMachine(t)
	m.program("node", "echo v20.20.2")
	m.program("chromium", "")
	m.program("oathtool", "")
	m.postgres("usr/lib/postgresql/15/bin", "15.1")
	m.debian(map[string]string{"openssl": "3.0.17"})
	if err := os.Remove(filepath.Join(m.bin, "openssl")); err != nil {
		t.Fatal(err)
	}
	if printed, content := m.setup("run"); printed != "" || !content {
		t.Errorf("run: content %v, printed %q", content, printed)
	}
	if printed, content := m.setup("test"); !content {
		t.Errorf("not content: %s", printed)
	}
	m.wantCalls("apt-get update", "apt-get install openssl")
}

// OAuth clients that are packages of Debian are installed there, and not needed elsewhere.
func TestSetupInstallsClients(t *testing.T) {
	m := newMachine(t)
	if printed, content := m.setup("clients"); printed != "" || !content {
		t.Errorf("not Debian: content %v, printed %q", content, printed)
	}
	for _, program := range []string{
		"usr/sbin/apache2", "usr/bin/caddy", "usr/sbin/haproxy", "usr/sbin/pgbouncer", "usr/bin/prometheus",
		"usr/bin/ip", "usr/bin/pgbackrest", "usr/bin/pebble", "usr/bin/etcd", "usr/bin/patroni",
	} {
		m.file(program, "", 0o755)
	}
	for _, name := range []string{"authlib", "flask", "requests_oauthlib"} {
		m.file("usr/lib/python3/dist-packages/"+name+"/__init__.py", "", 0o644)
	}
	m.file("usr/lib/apache2/modules/mod_auth_openidc.so", "", 0o644)
	m.debian(map[string]string{"libapache2-mod-oauth2": "(none)"})
	if printed, content := m.setup("clients"); content ||
		!strings.Contains(printed, "missing: nginx libapache2-mod-oauth2") {
		t.Errorf("not offered: content %v, printed %q", content, printed)
	}
	m.debian(map[string]string{"libapache2-mod-oauth2": "3.3.1-1"})
	if _, content := m.setup("clients"); content {
		t.Error("content, though apt-get installed nothing")
	}
	m.file("usr/lib/apache2/modules/mod_oauth2.so", "", 0o644)
	m.debian(map[string]string{"nginx": "1.22.1-9", "prometheus-alertmanager": "0.25.0-1+b4"})
	if _, content := m.setup("clients"); content {
		t.Error("content, though apt-get installed no nginx")
	}
	m.wantCalls("apt-get update", "apt-get update", "apt-get install libapache2-mod-oauth2", "apt-get update",
		"apt-get install nginx", "apt-get install prometheus-alertmanager")
	if policy := filepath.Join(m.root, "usr/sbin/policy-rc.d"); exists(policy) {
		t.Error("services are never started any more: " + policy)
	}
	m.file("usr/sbin/nginx", "", 0o755)
	m.file("usr/bin/prometheus-alertmanager", "", 0o755)
	if printed, content := m.setup("clients"); printed != "" || !content {
		t.Errorf("all there: content %v, printed %q", content, printed)
	}
}

func TestSetupKeepsAnAdministratorsChoice(t *testing.T) {
	const chosen = "create_main_cluster = true\n"
	for name, prepare := range map[string]func(machine){
		"setting": func(m machine) { m.file(configuration, chosen, 0o644) },
		"servers": func(m machine) {
			m.file(configuration, chosen, 0o644)
			m.postgres("usr/lib/postgresql/13/bin", "13.4")
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.debian(map[string]string{"postgresql": "15+248"})
			prepare(m)
			if printed, content := m.setup("run"); !content {
				t.Errorf("not content: %s", printed)
			}
			text, err := os.ReadFile(filepath.Join(m.root, configuration))
			if err != nil || string(text) != chosen {
				t.Errorf("the file is now %q, %v", text, err)
			}
		})
	}
}

func TestSetupUsesSudo(t *testing.T) {
	m := newMachine(t)
	m.debian(map[string]string{"postgresql": "15+248"})
	m.program("id", "echo 1000")
	if printed, content := m.setup("run"); content ||
		!strings.Contains(printed, "As root, type: apt-get install postgresql") {
		t.Errorf("content %v, printed %q", content, printed)
	}
	m.wantCalls("")
	m.program("sudo", `echo "sudo $*" >>"$CALLS"; exec "$@"`)
	if printed, content := m.setup("run"); !content {
		t.Errorf("not content: %s", printed)
	}
	m.wantCalls("sudo apt-get update", "apt-get update",
		"sudo apt-get install postgresql-common", "apt-get install postgresql-common",
		"sudo tee -a "+filepath.Join(m.root, configuration),
		"sudo apt-get install postgresql", "apt-get install postgresql", "without a cluster")
}

func TestSetupNamesTheCommand(t *testing.T) {
	tests := map[string]struct {
		prepare func(machine)
		what    string
		want    string
	}{
		"old Go": {func(m machine) { m.program("go", "echo go version go1.25.9 linux/amd64") }, "run",
			"Go 1.26 or later is missing"},
		"no Go": {func(m machine) { os.Remove(filepath.Join(m.bin, "go")) }, "run", "https://go.dev/dl/"},
		"Debian's old Node": {func(m machine) {
			m.debian(map[string]string{"nodejs": "18.20.4+dfsg-1~deb12u3"})
			m.postgres("usr/lib/postgresql/15/bin", "15.1")
			m.program("chromium", "")
			m.program("oathtool", "")
		}, "test", "Type: curl -fsSL https://nodejs.org/dist/v22"},
		"Ubuntu's Chromium": {func(m machine) {
			m.debian(map[string]string{"chromium": "(none)"})
			m.postgres("usr/lib/postgresql/16/bin", "16.1")
			m.program("oathtool", "")
			m.program("node", "echo v24.0.0")
		}, "test", "Type: snap install chromium"},
		"Debian's old Postgres": {func(m machine) { m.debian(map[string]string{"postgresql": "13+225"}) }, "run",
			"missing: postgresql (Postgres 15"},
		"macOS": {func(m machine) { m.program("brew", "") }, "test",
			"Type: brew install postgresql@17 google-chrome node oath-toolkit"},
		"Fedora": {func(m machine) { m.program("dnf", ""); m.program("id", "echo 1000") }, "run",
			"Type: sudo dnf install postgresql-server postgresql-contrib"},
		"Arch": {func(m machine) { m.program("pacman", "") }, "test",
			"Type: pacman -S postgresql chromium nodejs oath-toolkit"},
		"Alpine": {func(m machine) { m.program("apk", "") }, "test",
			"Type: apk add postgresql postgresql-contrib chromium nodejs oath-toolkit-oathtool"},
		"unknown purpose": {func(machine) {}, "walk", "usage"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			test.prepare(m)
			if printed, content := m.setup(test.what); content || !strings.Contains(printed, test.want) {
				t.Errorf("content %v, printed %q, want %q", content, printed, test.want)
			}
			if slices.ContainsFunc(m.called(), func(call string) bool { return strings.Contains(call, "install") }) {
				t.Errorf("installed something: %q", m.called())
			}
		})
	}
}

func TestSetupReadsTheEnvironment(t *testing.T) {
	m := newMachine(t)
	m.postgres("usr/lib/postgresql/17/bin", "17.2")
	plain := m.env
	m.env = append(plain, "PG_BIN=/nowhere")
	if printed, content := m.setup("run"); content || !strings.Contains(printed, "PG_BIN=/nowhere") {
		t.Errorf("wrong PG_BIN: content %v, printed %q", content, printed)
	}
	m.env = append(plain, "PG_BIN=/nowhere", "HERALD_DATABASE_URL=postgres://elsewhere")
	if printed, content := m.setup("run"); !content || printed != "" {
		t.Errorf("a given server: content %v, printed %q", content, printed)
	}
	if _, content := m.setup("test"); content {
		t.Error("tests need a server of their own")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
