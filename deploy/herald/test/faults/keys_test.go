package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pquerna/otp/totp"

	"herald/deploy/herald/test/whole"
	"herald/services/idp"
	"herald/services/users"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

// rotation is an instance with an object of each kind that depends on the master key.
type rotation struct {
	*whole.Instance
	provider string
	// steps are the commands of SECURITY.md, before and after the restart.
	steps []string
	old   secret.Keys
}

// many is more than two batches.
const many = 450

func newRotation(t *testing.T) *rotation {
	t.Helper()
	r := &rotation{Instance: whole.Start(t)}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```")
	for _, block := range blocks.FindAllStringSubmatch(whole.File(t, "SECURITY.md"), -1) {
		r.steps = append(r.steps, strings.ReplaceAll(block[1], ".build/herald", whole.Binary(t)))
	}
	if len(r.steps) != 2 {
		t.Fatalf("SECURITY.md has %d blocks of commands", len(r.steps))
	}
	r.old = r.keys()
	answer := r.Must("POST", "/management/v1/idps/directory",
		`{"name":"Company","clientId":"c","clientSecret":"first"}`)
	r.provider = answer["id"].(string)
	r.Import("u1") // with a code in its mail
	db := r.database("users")
	for i := range many {
		name := fmt.Sprintf("of a test %03d", i)
		if _, err := db.Exec(t.Context(), `insert into lasting_keys values ($1, $2)`, name,
			r.old.Seal([]byte(name), users.Sealed[1], name)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rotation) keys() secret.Keys {
	r.T.Helper()
	text, err := os.ReadFile(r.Dir + "/data/master.key")
	if err != nil {
		r.T.Fatal(err)
	}
	keys, err := secret.ParseKeys(string(text))
	if err != nil {
		r.T.Fatal(err)
	}
	return keys
}

// database connects to a service's database as the superuser.
func (r *rotation) database(service string) *pgx.Conn {
	r.T.Helper()
	url, err := local.Address(r.Dir + "/data/postgres")
	if err != nil {
		r.T.Fatal(err)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		r.T.Fatal(err)
	}
	config.Database = "herald_" + service
	db, err := pgx.ConnectConfig(r.T.Context(), config)
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

// typed runs commands of SECURITY.md and returns what they print.
func (r *rotation) typed(commands string) string {
	r.T.Helper()
	c := exec.CommandContext(r.T.Context(), "bash", "-euo", "pipefail", "-c", commands)
	c.Env = r.Env
	out, err := c.CombinedOutput()
	if err != nil {
		r.T.Fatalf("%s\nended with %v: %s", commands, err, out)
	}
	return string(out)
}

// refused fails the test unless a command fails with this message.
func (r *rotation) refused(says string, args ...string) {
	r.T.Helper()
	out, complaints, code := r.Herald("", append([]string{"keys"}, args...)...)
	if code != 1 || !strings.Contains(complaints, says) {
		r.T.Errorf("keys %v: %q, %q, exit code %d", args, out, complaints, code)
	}
}

func (r *rotation) restart() {
	r.T.Helper()
	if err := r.Stop(syscall.SIGTERM); err != nil {
		r.T.Fatal(err)
	}
	r.Start()
}

// killed runs `herald keys rotate` until it waits for a row of its last batch, and kills it there.
func (r *rotation) killed() {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), time.Minute)
	defer cancel()
	holder, watcher := r.database("users"), r.database("users")
	tx, err := holder.Begin(ctx)
	if err != nil {
		r.T.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `select from lasting_keys where name = $1 for update`,
		fmt.Sprintf("of a test %03d", many-1)); err != nil {
		r.T.Fatal(err)
	}
	c := exec.Command(whole.Binary(r.T), "keys", "rotate")
	c.Env = r.Env
	if err := c.Start(); err != nil {
		r.T.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for waiting := false; !waiting; <-tick.C {
		if err := watcher.QueryRow(ctx, `select exists (select from pg_stat_activity
			where wait_event_type = 'Lock' and query like 'update "lasting_keys"%')`).Scan(&waiting); err != nil {
			_ = c.Process.Kill()
			r.T.Fatalf("the rotation does not wait for the row that is held: %v", err)
		}
	}
	if err := c.Process.Kill(); err != nil || c.Wait() == nil {
		r.T.Fatalf("not killed: %v", err)
	}
	out, _, _ := r.Herald("", "keys", "status")
	r.refused("is still needed by", "remove")
	if err := tx.Rollback(ctx); err != nil {
		r.T.Fatal(err)
	}
	for _, id := range r.keys().IDs() { // both have sealed some of the lasting keys
		if !regexp.MustCompile(id.String() + ` .* [1-9]\d* +users +lasting_keys.secret`).MatchString(out) {
			r.T.Errorf("after the kill %s has nothing: %s", id, out)
		}
	}
}

// load changes the provider's secret and the administrator's app until it is stopped; stop returns
// the last secret of each.
func (r *rotation) load() (stop func() (provider, app string)) {
	r.T.Helper()
	ended := make(chan struct{})
	var running sync.WaitGroup
	var provider, app string
	until := func(change func(n int)) {
		running.Go(func() {
			for n := 0; ; n++ {
				change(n)
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	until(func(n int) {
		next := fmt.Sprint("secret ", n)
		status, answer, err := r.Try("PUT", "/management/v1/idps/directory/"+r.provider,
			fmt.Sprintf(`{"clientSecret":%q}`, next))
		if status != http.StatusOK {
			r.T.Errorf("provider: %d %v %v", status, answer, err)
		}
		provider = next
	})
	until(func(int) {
		status, answer, err := r.Try("POST", "/auth/v1/users/me/auth_factors/otp", `{"replace":true}`)
		if status != http.StatusOK {
			r.T.Errorf("app: %d %v %v", status, answer, err)
			return
		}
		app = answer["secret"].(string)
	})
	return func() (string, string) {
		close(ended)
		running.Wait()
		return provider, app
	}
}

// The master key changes under load as SECURITY.md describes, with a rotation that is killed and
// two at once. Then everything that was made with the old key works with the new one alone.
func TestMasterKeyChanges(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	oldID := r.old.IDs()[0].String()
	if out, _, code := r.Herald("", "keys", "status"); code != 0 || !strings.Contains(out, oldID) ||
		strings.Contains(out, "kept") {
		t.Errorf("before: %s", out)
	}
	r.typed(r.steps[0])
	both := r.keys()
	if info, err := os.Stat(r.Dir + "/data/master.key"); err != nil || info.Mode().Perm() != 0o600 ||
		len(both.IDs()) != 2 || both.IDs()[1] != r.old.IDs()[0] {
		t.Fatalf("the file has the keys %v, %v", both.IDs(), err)
	}
	r.refused("restart all processes first", "rotate")
	r.refused("restart all processes first", "remove")
	r.restart()
	r.refused("is still needed by", "remove")
	stop := r.load()
	r.killed()
	var second sync.WaitGroup
	second.Go(func() {
		if out, complaints, code := r.Herald("", "keys", "rotate"); code != 0 {
			t.Errorf("the second of two rotations: %s%s", out, complaints)
		}
	})
	out := r.typed(r.steps[1])
	second.Wait()
	provider, app := stop()
	for _, says := range []string{"secrets sealed anew", oldID + "  kept", "herald keys remove", "1 keys are removed"} {
		if !strings.Contains(out, says) {
			t.Errorf("the commands do not say %q: %s", says, out)
		}
	}
	if left := r.keys(); !slices.Equal(left.IDs(), both.IDs()[:1]) {
		t.Errorf("the file has %v", left.IDs())
	}
	r.restart()
	r.works(provider, app)
	r.typed("\n" + strings.ReplaceAll(r.steps[1], "keys remove", "keys status")) // nothing to do
	r.lacksKey()
}

// works fails the test unless everything from before the change works with the new key alone.
func (r *rotation) works(provider, app string) {
	r.T.Helper()
	code, err := totp.GenerateCode(app, time.Now())
	if err != nil {
		r.T.Fatal(err)
	}
	r.Must("POST", "/auth/v1/users/me/auth_factors/otp/_verify", fmt.Sprintf(`{"code":%q}`, code))
	var sealed []byte
	if err := r.database("idp").QueryRow(r.T.Context(), `select client_secret from idps where id = $1`,
		r.provider).Scan(&sealed); err != nil {
		r.T.Fatal(err)
	}
	if plain, err := r.keys().Open(sealed, idp.Sealed[0], r.provider); err != nil || string(plain) != provider {
		r.T.Errorf("the provider's secret is %q, %v", plain, err)
	}
	r.Import("u1") // the same again
	r.ChoosePassword("u1@example.com")
	if state := r.State("u1"); state != "USER_STATE_ACTIVE" {
		r.T.Errorf("the mailed code leads to %v", state)
	}
}

// lacksKey fails the test unless a start without a needed key fails with its id.
func (r *rotation) lacksKey() {
	r.T.Helper()
	needed := r.keys().IDs()[0].String()
	if err := r.Stop(syscall.SIGTERM); err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(r.Dir+"/data/master.key", []byte(secret.NewKeyText()), 0o600); err != nil {
		r.T.Fatal(err)
	}
	out, complaints, code := r.Herald("", "run")
	if code != 1 || !strings.Contains(complaints, "master key "+needed) ||
		!strings.Contains(complaints, "herald keys status") {
		r.T.Errorf("without its key: exit code %d, %s%s", code, out, complaints)
	}
}

// Wrong commands fail with the reason before they do anything.
func TestKeysMistakes(t *testing.T) {
	t.Parallel()
	i := &whole.Instance{T: t, Dir: t.TempDir()}
	key := strings.TrimSpace(secret.NewKeyText())
	file := i.Dir + "/master.key"
	if err := os.WriteFile(file, []byte(key+"\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	inFile, inText := "HERALD_MASTER_KEY_FILE="+file, "HERALD_MASTER_KEY="+key
	nowhere := "HERALD_DATABASE_URL=postgres://127.0.0.1:1"
	for says, c := range map[string]struct {
		env  []string
		args []string
	}{
		"HERALD_DATA_DIR":                 {dataDir(i), []string{"add"}},
		"no `herald run` is running":      {append(dataDir(i), inFile), []string{"rotate"}},
		"the keys are in HERALD_MASTER_K": {[]string{inText}, []string{"add"}},
		"64 hexadecimal digits":           {[]string{"HERALD_MASTER_KEY=abc"}, []string{"status"}},
		"there is no master key 12345678": {[]string{inFile}, []string{"use", "12345678"}},
		"connection refused":              {[]string{inFile, nowhere}, []string{"remove"}},
		"no service text that seals":      {[]string{inFile, nowhere}, []string{"rotate", "text"}},
		"unknown command":                 {nil, []string{"rotat"}},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			operator := whole.Instance{T: t, Env: append(os.Environ(), c.env...)}
			if out, complaints, code := operator.Herald("", append([]string{"keys"}, c.args...)...); code != 1 ||
				out != "" || !strings.Contains(complaints, says) {
				t.Errorf("%q, %q, exit code %d", out, complaints, code)
			}
		})
	}
}
