// Package backup_test backs a system up, restores it, and looks at what came back.
package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres/local"
)

// A system that is lost while it works comes back as it was at the backup, with all that was answered before. No mail
// is sent again, and no login, token or key works again.
func TestBackupIsRestored(t *testing.T) {
	t.Parallel()
	source := whole.Start(t, "HERALD_SMTP_URL=smtp://"+whole.FreeAddress(t)) // where nobody listens, so that mails wait
	source.Import("mini")
	source.Must("POST", "/management/v1/users/human/_import", whole.Active("ada"))
	machine := source.Must("POST", "/management/v1/users/machine", `{"userName":"ci","name":"CI"}`)["userId"].(string)
	source.Must("POST", "/management/v1/users/"+machine+"/keys", `{"type":"KEY_TYPE_JSON"}`)
	name, password := source.Administrator()
	browser := enter(t, source, name, password, "/ui/login/next")
	file := filepath.Join(source.Dir, "herald.backup")
	answered := whileWorking(source, func() {
		if _, says, code := source.Herald("", "backup", file); code != 0 ||
			!strings.Contains(says, "of 6 databases") || !strings.Contains(says, "keep it apart") {
			t.Errorf("the backup ends with %d and says %q", code, says)
		}
	})
	if out, says, code := source.Herald("", "backup", "verify", file); code != 0 ||
		!strings.HasSuffix(out, "the backup is good\n") {
		t.Errorf("the verification ends with %d and says %q %q", code, out, says)
	}
	if err := source.Stop(syscall.SIGKILL); err == nil {
		t.Error("a killed system has ended well")
	}
	target := lost(t, source)
	out, says, code := target.Herald("", "restore", file)
	for _, line := range []string{
		"auth: 1 unfinished logins ended", "users: 1 personal access tokens ended",
		"users: 1 keys of machine users ended",
	} {
		if code != 0 || !strings.Contains(out, line) {
			t.Errorf("the restore ends with %d and says %q %q, without %q", code, out, says, line)
		}
	}
	if !regexp.MustCompile(`notification: \d+ mails not sent that may have been sent already`).MatchString(out) {
		t.Errorf("the restore says %q", out)
	}
	target.Start()
	if status, _ := target.Call("GET", "/auth/v1/users/me", ""); status != http.StatusUnauthorized {
		t.Errorf("a token of the backup is answered with %d", status)
	}
	page := whole.Visit(t, browser, target.URL+"/ui/login/next", nil)
	if strings.Contains(page.Text, "/ui/login/next\"") {
		t.Error("a login of the backup goes on")
	}
	if err := target.Stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, says, code := target.Herald("", "restore", file); code == 0 || !strings.Contains(says, "--replace") {
		t.Errorf("a restore over a system ends with %d and says %q", code, says)
	}
	if out, says, code := target.Herald("", "restore", "--replace", "--keep-keys", file); code != 0 ||
		strings.Contains(out, "personal access tokens") {
		t.Errorf("a restore with keys ends with %d and says %q %q", code, out, says)
	}
	target.Start()
	for _, id := range append(answered, "ada", "mini") {
		target.State(id)
	}
	target.Import("later")
	target.Mail("later@example.com")
	var all struct{ Messages []whole.Letter }
	if target.Inbox("/api/v1/search?query="+url.QueryEscape(`to:"example.com"`), &all); len(all.Messages) != 1 {
		t.Errorf("%d mails are sent after the restore, not only the new one", len(all.Messages))
	}
	handledIsThere(t, target)
}

// enter types a login name and a password, and expects a page with a form for a path.
func enter(t *testing.T, i *whole.Instance, name, password, path string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	whole.Visit(t, browser, i.URL+"/ui/login/", nil)
	page := whole.Visit(t, browser, i.URL+"/ui/login/password", url.Values{"name": {name}, "current": {password}})
	if !strings.Contains(page.Text, `action="`+path+`"`) {
		t.Fatalf("the login of %s leads to %q", name, page.Text)
	}
	return browser
}

// whileWorking calls work while people are imported. It returns those whose import was answered before.
func whileWorking(i *whole.Instance, work func()) (answered []string) {
	i.T.Helper()
	begun, done := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				n++
				id := fmt.Sprintf("w%05d", n)
				mu.Unlock()
				status, _, err := i.Try("POST", "/management/v1/users/human/_import", whole.Person(id))
				mu.Lock()
				if err == nil && status == http.StatusOK {
					if answered = append(answered, id); len(answered) == 20 {
						close(begun)
					}
				}
				mu.Unlock()
			}
		})
	}
	<-begun
	mu.Lock()
	before := append([]string(nil), answered...)
	mu.Unlock()
	work()
	close(done)
	all.Wait()
	return before
}

// lost returns a new system on another machine, of which the operator has kept the master key, and where the token of
// the old one is.
func lost(t *testing.T, source *whole.Instance) *whole.Instance {
	t.Helper()
	target := whole.New(t)
	if err := os.Mkdir(target.Dir+"/data", 0o711); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/data/master.key", "/data/admin.pat"} {
		text, err := os.ReadFile(source.Dir + name)
		if err == nil {
			err = os.WriteFile(target.Dir+name, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return target
}

// database opens a database of a running system.
func database(t *testing.T, i *whole.Instance, name string) *pgx.Conn {
	t.Helper()
	address, err := local.Address(i.Dir + "/data/postgres")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// handledIsThere checks that each mail of the notifier is for an event that users has.
func handledIsThere(t *testing.T, i *whole.Instance) {
	t.Helper()
	ids := func(name, sql string) map[string]bool {
		t.Helper()
		rows, _ := database(t, i, name).Query(t.Context(), sql)
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		for _, id := range found {
			all[id] = true
		}
		return all
	}
	events := ids("herald_users", `select id from events`)
	mails := ids("herald_notification", `select id from notifications`)
	for id := range mails {
		if !events[id] {
			t.Errorf("the mail %s is of an event that is lost", id)
		}
	}
	if len(mails) < 20 {
		t.Errorf("there are %d mails: the test proves little", len(mails))
	}
}

// The moment of a backup is after all changes that are under way in any database, so that it has what others may have
// learned of them.
func TestBackupWaitsForChangesUnderWay(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	tx, err := database(t, i, "herald_users").Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec(t.Context(), `lock table outbox in row exclusive mode`) // as a change does
	if err == nil {
		_, err = tx.Exec(t.Context(), `insert into quotas (name, org_id, most, what) values ('under way', 'x', 1, 'x')`)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(i.Dir, "herald.backup")
	ended := make(chan string, 1)
	go func() {
		_, says, code := i.Herald("", "backup", file)
		ended <- fmt.Sprint(code, " ", says)
	}()
	other, waits := database(t, i, "herald_users"), false
	for end := time.Now().Add(20 * time.Second); !waits; {
		err := other.QueryRow(t.Context(), `select exists (select from pg_locks where not granted
			and relation = 'outbox'::regclass)`).Scan(&waits)
		if err != nil || time.Now().After(end) {
			t.Fatalf("the backup does not wait: %v", err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if says := <-ended; !strings.HasPrefix(says, "0 ") {
		t.Fatalf("the backup ends with %s", says)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(member(t, text, "users/quotas/000001.gz"), "under way") {
		t.Error("the change is not in the backup")
	}
}

// member returns the rows of a member.
func member(t *testing.T, text []byte, name string) string {
	t.Helper()
	in := tar.NewReader(bytes.NewReader(text))
	for {
		head, err := in.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if head.Name != name {
			continue
		}
		inflated, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := io.ReadAll(inflated)
		if err != nil {
			t.Fatal(err)
		}
		return string(rows)
	}
}

// A backup that is not whole, or was changed, restores nothing.
func TestDamagedBackupIsRefused(t *testing.T) {
	t.Parallel()
	source := whole.Start(t)
	file := filepath.Join(source.Dir, "herald.backup")
	if _, says, code := source.Herald("", "backup", file); code != 0 {
		t.Fatalf("the backup ends with %d and says %q", code, says)
	}
	if _, says, code := source.Herald("", "backup", file); code == 0 || !strings.Contains(says, "replaces no file") {
		t.Errorf("a second backup into the file ends with %d and says %q", code, says)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	target := lost(t, source)
	for name, c := range map[string]struct {
		text []byte
		says string
	}{
		"of another kind":  {[]byte("hello"), "no backup of Herald"},
		"cut":              {text[:len(text)/2], "not complete"},
		"without a table":  {without(t, text, "users/members/000001.gz"), "members differs from the backup"},
		"without its end":  {without(t, text, "end.json"), "not complete"},
		"of other service": {renamed(t, text, "users/members/000001.gz", "others/members/000001.gz"), "no backup"},
	} {
		t.Run(name, func(t *testing.T) {
			out, says, code := target.Herald(string(c.text), "restore", "-")
			if code == 0 || out != "" || !strings.Contains(says, c.says) {
				t.Errorf("the restore ends with %d and says %q %q", code, out, says)
			}
		})
	}
	if out, says, code := target.Herald(string(text), "restore", "-"); code != 0 {
		t.Errorf("the whole backup after them ends with %d and says %q %q", code, out, says)
	}
}

func without(t *testing.T, text []byte, name string) []byte { return renamed(t, text, name, "") }

// renamed returns a backup in which a member has another name, or is left out.
func renamed(t *testing.T, text []byte, name, to string) []byte {
	t.Helper()
	var changed bytes.Buffer
	in, out := tar.NewReader(bytes.NewReader(text)), tar.NewWriter(&changed)
	found := false
	for {
		head, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if head.Name == name {
			if found = true; to == "" {
				continue
			}
			head.Name = to
		}
		if err := out.WriteHeader(head); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil || !found {
		t.Fatalf("%v, %s is there: %v", err, name, found)
	}
	return changed.Bytes()
}

// The master key is in a backup only with a passphrase, which opens it on a machine that has nothing else.
func TestPassphraseOpensTheMasterKey(t *testing.T) {
	t.Parallel()
	source := whole.Start(t)
	plain, wrapped := filepath.Join(source.Dir, "plain"), filepath.Join(source.Dir, "wrapped")
	passphrase, wrong := filepath.Join(source.Dir, "passphrase"), filepath.Join(source.Dir, "wrong")
	for name, text := range map[string]string{passphrase: "correct horse battery\n", wrong: "correct horse batteru\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{plain}, {"--passphrase-file", passphrase, wrapped}} {
		if _, says, code := source.Herald("", append([]string{"backup"}, args...)...); code != 0 {
			t.Fatalf("the backup ends with %d and says %q", code, says)
		}
	}
	target := whole.New(t)
	for _, c := range []struct{ file, passphrase, says string }{
		{plain, passphrase, "made without a passphrase"}, {wrapped, wrong, "the passphrase is wrong"},
	} {
		if _, says, code := target.Herald("", "restore", "--passphrase-file", c.passphrase, c.file); code == 0 ||
			!strings.Contains(says, c.says) {
			t.Errorf("the restore of %s ends with %d and says %q", c.file, code, says)
		}
	}
	if _, says, code := target.Herald("", "restore", plain); code == 0 ||
		!strings.Contains(says, "needs the master key") {
		t.Errorf("the restore without a key ends with %d and says %q", code, says)
	}
	_, says, code := target.Herald("", "restore", "--keep-keys", "--passphrase-file", passphrase, wrapped)
	if code != 0 {
		t.Fatalf("the restore ends with %d and says %q", code, says)
	}
	if err := os.WriteFile(target.Dir+"/data/admin.pat", []byte(source.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	target.Start()
	target.Must("GET", "/auth/v1/users/me", "")
}

// An operator whom nobody lets in makes an administrator, who must choose a password.
func TestAdministratorOfAReset(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	for range 2 {
		out, says, code := i.Herald("", "admin", "reset")
		made := regexp.MustCompile(`^administrator: login name (admin-\w{8}), one-time password (\w{16}) `).
			FindStringSubmatch(out)
		if code != 0 || made == nil {
			t.Fatalf("it ends with %d and says %q %q", code, out, says)
		}
		browser := enter(t, i, made[1], made[2], "/ui/login/next")
		next := url.Values{"password": {"Tr0ub4dor3 and more"}, "confirmation": {"Tr0ub4dor3 and more"}}
		page := whole.Visit(t, browser, i.URL+"/ui/login/next", next)
		if !strings.Contains(page.Text, "/ui/login/logout") {
			t.Errorf("the new password leads to %q", page.Text)
		}
	}
	found := i.Must("POST", "/admin/v1/members/_search", `{}`)["result"].([]any)
	if len(found) != 3 {
		t.Errorf("the instance has %d members, not the first one and two of resets", len(found))
	}
}
