package start_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
)

// A command that needs the master key says so if it has the gateway's keys only.
func TestCommandsWithTheGatewaysKeys(t *testing.T) {
	t.Parallel()
	dir := secrets(t)
	i := &whole.Instance{T: t, Env: append(os.Environ(), "HERALD_MASTER_KEY_FILE="+dir+"/gateway/gateway.key",
		"HERALD_NATS_URL=nats://127.0.0.1:1", "HERALD_DATABASE_URL=postgres://127.0.0.1:1",
		"HERALD_DATA_DIR="+dir+"/data", "HERALD_LISTEN=127.0.0.1:0", "HERALD_INBOX_LISTEN=127.0.0.1:0")}
	for _, command := range []string{
		"users", "databases", "subscriber-password", "keys status", "keys add", "replay users", "dead list", "run",
	} {
		out, complaint, code := i.Herald("", strings.Fields(command)...)
		if code != 1 || out != "" || strings.Contains(complaint, "panic") ||
			!strings.Contains(complaint, "master key") || !strings.Contains(complaint, "derived keys only") {
			t.Errorf("%s ended with %d and said %q %q", command, code, out, complaint)
		}
	}
}

// The error about a key that cannot be used helps to find the right key, and never advises to make a new one.
func TestUnusableKeys(t *testing.T) {
	t.Parallel()
	dir := secrets(t)
	for text, says := range map[string]string{
		"": "there is no key", "half": "64 hexadecimal digits",
		"caller=" + strings.Repeat("0", 64) + "\n": "lacks a key of the gateway",
	} {
		file := dir + "/other.key"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		i := &whole.Instance{T: t, Env: append(os.Environ(), "HERALD_MASTER_KEY_FILE="+file,
			"HERALD_NATS_URL=nats://127.0.0.1:1")}
		for command, advice := range map[string]string{
			"gateway": "`herald secrets` writes gateway.key again", "users": "restore it from a backup",
		} {
			if command == "users" && strings.Contains(text, "=") {
				continue
			}
			_, complaint, code := i.Herald("", command)
			if code != 1 || !strings.Contains(complaint, says) || !strings.Contains(complaint, advice) ||
				!strings.Contains(complaint, file) || strings.Contains(complaint, "openssl") {
				t.Errorf("%s with the key %q ended with %d and said %q", command, text, code, complaint)
			}
		}
	}
	i := &whole.Instance{T: t, Env: append(os.Environ(), "HERALD_NATS_URL=nats://127.0.0.1:1")}
	if _, complaint, code := i.Herald("", "users"); code != 1 ||
		!strings.Contains(complaint, "HERALD_MASTER_KEY_FILE is not set") {
		t.Errorf("without a key ended with %d and said %q", code, complaint)
	}
}

// An operator's command takes the settings of `herald run`, and finds its server by itself.
func TestReplay(t *testing.T) {
	t.Parallel()
	server := whole.Postgres(t)
	for name, setting := range map[string][]string{
		"local server": nil, "given server": {"HERALD_DATABASE_URL=" + server.TCP()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := whole.Start(t, append(setting, "HERALD_TOKEN=of-somebody")...)
			i.Import("u1")
			i.Mail("u1@example.com") // its event is published
			out, complaint, code := i.Herald("", "replay", "users")
			if code != 0 || !strings.HasSuffix(out, " events will be published again\n") ||
				strings.HasPrefix(out, "0 ") {
				t.Errorf("ended with %d and said %q %q", code, out, complaint)
			}
			if out, complaint, code = i.Herald("", "replay", "users", "--from", "1000000"); code != 0 ||
				out != "0 events will be published again\n" {
				t.Errorf("ended with %d and said %q %q", code, out, complaint)
			}
			if _, complaint, code = i.Herald("", "replay", "user"); code != 1 || !strings.Contains(complaint,
				`there is no service "user"; the services are users, text, notification, auth, projects, idp`) {
				t.Errorf("ended with %d and said %q", code, complaint)
			}
		})
	}
}

// The plan names what the migration then does.
func TestMigrateDoesWhatItPlans(t *testing.T) {
	t.Parallel()
	server := whole.Postgres(t)
	i := whole.Start(t, "HERALD_DATABASE_URL="+server.TCP())
	says := func(want string, args ...string) {
		t.Helper()
		out, complaint, code := i.Herald("", append([]string{"migrate"}, args...)...)
		if code != 0 || strings.Count(out, "\n") != 6 || !strings.Contains(out, "text: "+want+"\n") {
			t.Errorf("%q ended with %d and said %q %q, without %q", args, code, out, complaint, want)
		}
	}
	says("nothing to migrate", "--plan")
	db := whole.Database(t, server, "text")
	back := `alter table brandings drop column support_email; update schema_version set version = 3`
	if _, err := db.Exec(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	says("004_support.sql", "--plan")
	says("004_support.sql", "--plan") // the first changed nothing
	says("004_support.sql")
	says("nothing to migrate", "--plan")
	ahead := `select support_email from brandings; update schema_version set version = 99, oldest = 99`
	if _, err := db.Exec(t.Context(), ahead); err != nil {
		t.Fatal(err)
	}
	if _, complaint, code := i.Herald("", "migrate", "--plan"); code != 1 ||
		!strings.Contains(complaint, "of a newer Herald: its schema_version is 99, and this program knows ") {
		t.Errorf("a newer database: ended with %d and said %q", code, complaint)
	}
}

// secrets returns a folder that `herald secrets` has written.
func secrets(t *testing.T) string {
	t.Helper()
	dir := whole.Dir(t)
	if out, err := exec.Command(whole.Binary(t), "secrets", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}
