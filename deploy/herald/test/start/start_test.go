// Package start_test starts the real binary where it must not touch anything.
package start_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"herald/deploy/herald/test/whole"
)

var starts = flag.Int("starts", 20, "how often `herald run` is started in a directory that another one has")

// lock is the file that says which process has the directory.
const lock = "run.lock"

// inUse is the exit code of a start in a directory that another process has.
const inUse = 3

// While the first instance is halted, nothing in its directory changes by itself, but for what is
// Postgres's own.
func TestSecondStartTouchesNothing(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	i.Import("u1")
	i.Mail("u1@example.com")
	first := i.Cmd.Process
	if err := first.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Signal(syscall.SIGCONT) })
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(first.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it is not halted: %v %v", status, err) // until then it may still write
	}
	before := files(t, i.Dir+"/data")
	says := regexp.MustCompile(fmt.Sprintf(
		`%s/data: process %d has it since 20\d\d-[-0-9:T]+Z: stop that .herald run. first`, i.Dir, first.Pid))
	other := append(i.Env[:len(i.Env):len(i.Env)], "HERALD_LISTEN=127.0.0.1:0", "HERALD_INBOX_LISTEN=127.0.0.1:0",
		"HERALD_PUBLIC_URL=http://localhost")
	for n := range *starts {
		env := i.Env // every second start has other ports
		if n%2 == 0 {
			i.Env = other
		}
		out, complaint, code := i.Herald("", "run")
		i.Env = env
		if code != inUse || out != "" || !says.MatchString(complaint) {
			t.Fatalf("a second start ended with %d and said %q %q", code, out, complaint)
		}
	}
	after := files(t, i.Dir+"/data")
	delete(before, "postgres/log") // Postgres is not halted, and says that the first instance is silent
	delete(after, "postgres/log")
	unchanged(t, before, after)
	if err := first.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	works(i, "u2") // it gave its connections up while it was halted
	if err := i.Stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	i.Start() // the lock ended with its process
	if i.State("u1") != "USER_STATE_INITIAL" || i.State("u2") != "USER_STATE_INITIAL" {
		t.Error("a user is gone")
	}
}

// Without its master key old data cannot be opened, so no other key is made for it.
func TestMissingMasterKey(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	i.Import("u1")
	if err := i.Stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	data, key := i.Dir+"/data", i.Dir+"/data/master.key"
	if err := os.Rename(key, i.Dir+"/kept"); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"none": "", "empty": "\n", "malformed": "not a key\n",
	} {
		says := "master.key cannot be used"
		if name == "none" {
			says = "master.key is missing"
		} else if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := files(t, data)
		out, complaint, code := i.Herald("", "run")
		if code != 1 || out != "" || !strings.Contains(complaint, says) ||
			!strings.Contains(complaint, "from a backup") || strings.Contains(complaint, "openssl") {
			t.Errorf("%s: ended with %d and said %q %q", name, code, out, complaint)
		}
		after := files(t, data)
		delete(before, lock) // says which process had it last
		delete(after, lock)
		unchanged(t, before, after)
		_ = os.Remove(key) // is not there in one case
	}
	if err := os.Rename(i.Dir+"/kept", key); err != nil {
		t.Fatal(err)
	}
	i.Start()
	if i.State("u1") != "USER_STATE_INITIAL" {
		t.Error("the user is gone")
	}
}

// A server that Herald has used before needs the key of that time too.
func TestMissingMasterKeyOfAServer(t *testing.T) {
	t.Parallel()
	server := whole.Postgres(t)
	i := whole.Start(t, "HERALD_DATABASE_URL="+server.TCP())
	if err := i.Stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	roles := `select string_agg(rolname || rolpassword, ' ' order by rolname) from pg_authid
		where rolname like 'herald%'`
	var before, after string
	db := whole.Database(t, server, "users")
	if err := db.QueryRow(t.Context(), roles).Scan(&before); err != nil {
		t.Fatal(err)
	}
	i.Env = append(i.Env, "HERALD_DATA_DIR="+i.Dir+"/other")
	_, complaint, code := i.Herald("", "run")
	if code != 1 || !strings.Contains(complaint, "HERALD_DATABASE_URL has databases of Herald") ||
		!strings.Contains(complaint, "other/master.key is missing") {
		t.Errorf("ended with %d and said %q", code, complaint)
	}
	if err := db.QueryRow(t.Context(), roles).Scan(&after); err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Error("the roles of the databases have changed")
	}
	if made := files(t, i.Dir+"/other"); len(made) != 1 {
		t.Errorf("the start has made %v", made)
	}
	i.Env = append(i.Env, "HERALD_MASTER_KEY_FILE="+i.Dir+"/data/master.key")
	i.StartCommand(whole.Binary(t), "run")
	if said := strings.Join(i.Out, "\n"); strings.Contains(said, "administrator's token") {
		t.Errorf("it names a file that is not there: %q", said)
	}
}

// A port that is taken is found before anything is made, and every one is named.
func TestTakenPorts(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	names := []string{"HERALD_LISTEN", "HERALD_INBOX_LISTEN", "HERALD_NATS_LISTEN", "HERALD_OPS_LISTEN"}
	i := whole.New(t)
	for _, name := range names {
		i.Env = append(i.Env, name+"="+busy.Addr().String())
	}
	out, complaint, code := i.Herald("", "run")
	if code != 1 || out != "" || strings.Count(complaint, "address already in use") != len(names) {
		t.Errorf("ended with %d and said %q %q", code, out, complaint)
	}
	for _, name := range names {
		if !strings.Contains(complaint, name+": listen tcp "+busy.Addr().String()) {
			t.Errorf("%s is not named: %q", name, complaint)
		}
	}
	if made := files(t, i.Dir+"/data"); len(made) != 1 || made[lock] == "" {
		t.Errorf("the start has made %v", made)
	}
}

// Without a Postgres for the data nothing is made.
func TestMissingPostgres(t *testing.T) {
	t.Parallel()
	i := whole.New(t)
	i.Env = append(i.Env, "PG_BIN="+i.Dir)
	if out, complaint, code := i.Herald("", "run"); code != 1 || out != "" ||
		!strings.Contains(complaint, i.Dir+" lacks initdb or postgres") {
		t.Errorf("ended with %d and said %q %q", code, out, complaint)
	}
	if made := files(t, i.Dir+"/data"); len(made) != 1 || made[lock] == "" {
		t.Errorf("the start has made %v", made)
	}
}

// The one-time password is printed even if the start in which it was made fails afterwards.
func TestOneTimePasswordOfAFailedStart(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*whole.Instance) error{
		"another service": func(i *whole.Instance) error {
			i.Env = append(i.Env, "HERALD_DEFAULT_LANGUAGE=xx")
			return nil
		},
		"users": func(i *whole.Instance) error { // the token's file cannot get its name
			i.Env = append(i.Env, "HERALD_ADMIN_PAT_FILE="+i.Dir+"/pat")
			return os.Mkdir(i.Dir+"/pat", 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := whole.New(t)
			env := i.Env
			if err := fail(i); err != nil {
				t.Fatal(err)
			}
			out, complaint, code := i.Herald("", "run")
			if code != 1 || strings.Count(out, "one-time password") != 1 || strings.Contains(out, "ready") {
				t.Fatalf("the first start ended with %d and said %q %q", code, out, complaint)
			}
			i.Env = append(env, "HERALD_ADMIN_PAT_FILE="+i.Dir+"/data/admin.pat")
			if name == "users" {
				if err := os.Rename(i.Dir+"/pat.new", i.Dir+"/data/admin.pat.new"); err != nil {
					t.Fatal(err)
				}
			}
			i.StartCommand(whole.Binary(t), "run")
			if said := strings.Join(i.Out, "\n"); strings.Contains(said, "one-time password") {
				t.Errorf("the second start says %q", said)
			}
			i.Import("u1") // with the token of the first start
		})
	}
}

// files returns the hash of every file below a folder, without those that only Postgres writes.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case name == "postgres/data":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		found[name] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	if !maps.Equal(before, after) {
		maps.DeleteFunc(before, func(name, hash string) bool { return after[name] == hash })
		t.Errorf("of the files these have changed: %v", slices.Sorted(maps.Keys(before)))
	}
}
