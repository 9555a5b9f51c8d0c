package faults_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/secret"
	"herald/shared/testkit/outside"
)

// rolling is a system of processes whose master key changes while people are imported.
type rolling struct {
	*whole.Processes
	file string
}

func (r rolling) keys() []secret.KeyID {
	r.T.Helper()
	text, err := os.ReadFile(r.file)
	if err != nil {
		r.T.Fatal(err)
	}
	keys, err := secret.ParseKeys(string(text))
	if err != nil {
		r.T.Fatal(err)
	}
	return keys.IDs()
}

// operate runs a command of the operator, which must succeed.
func (r rolling) operate(args ...string) string {
	r.T.Helper()
	out, complaints, code := r.Herald("", args...)
	if code != 0 {
		r.T.Fatalf("herald %v: exit code %d, %s%s", args, code, out, complaints)
	}
	return strings.TrimSpace(out)
}

// restart replaces every process by one with the present keys. It kills NATS and every second service, and stops the
// others.
func (r rolling) restart() {
	r.T.Helper()
	databases := exec.Command(whole.Binary(r.T), "databases")
	databases.Env = append(r.Env[:len(r.Env):len(r.Env)], "HERALD_DATABASE_URL="+r.Postgres.TCP())
	if out, err := databases.CombinedOutput(); err != nil {
		r.T.Fatalf("%v: %s", err, out)
	}
	r.Kill("nats")
	r.StartNATS()
	for n, service := range append(services.Names(), "gateway") {
		if n%2 == 0 {
			r.Kill(service)
		} else {
			r.End(service, syscall.SIGTERM)
		}
		r.Start(service)
	}
}

// load imports people, each until it is answered, and stops at the first answer that is neither a success nor says that
// something is away.
func (r rolling) load() (stop func() (imported map[string]bool)) {
	ended := make(chan struct{})
	all := map[string]bool{}
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; {
			id := fmt.Sprintf("p%05d", n)
			status, answer, err := r.Try("POST", "/management/v1/users/human/_import", whole.Person(id))
			switch {
			case err == nil && status == http.StatusOK:
				all[id] = true
				n++
				select {
				case <-ended:
					return
				default:
				}
			case err == nil && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout:
				r.T.Errorf("%s: %d %v", id, status, answer)
				return
			}
			<-tick.C
		}
	})
	return func() map[string]bool {
		close(ended)
		running.Wait()
		return all
	}
}

// The master key of a system with a process per service changes step by step, with processes and the rotation killed,
// while people are imported. In the end everything is sealed with the new key, which is the only one.
func TestMasterKeyChangesProcessByProcess(t *testing.T) {
	t.Parallel()
	mails := outside.StartMailServer(t, outside.MailConfig{})
	r := rolling{whole.NewProcesses(t, mails.URL()), ""}
	r.file = r.Dir + "/secrets/keys/master.key"
	r.StartNATS()
	r.StartAll()
	for path, body := range map[string]string{
		"/management/v1/idps/directory": `{"name":"Company","clientId":"c","clientSecret":"s"}`,
		"/management/v1/users/human/_import": strings.Replace(whole.Active("app"), "{",
			`{"otpCode":"JBSWY3DPEHPK3PXPJBSWY3DP",`, 1),
	} {
		r.Must("POST", path, body)
	}
	old := r.keys()[0]
	stop := r.load()
	fresh := r.operate("keys", "add")
	r.restart()
	r.operate("keys", "use", fresh)
	r.restart()
	killed := exec.Command(whole.Binary(t), "keys", "rotate")
	killed.Env = r.Env
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()
	r.operate("keys", "rotate")
	r.operate("keys", "remove")
	r.restart()
	imported := stop()
	if left := r.keys(); len(left) != 1 || left[0].String() != fresh || left[0] == old {
		t.Errorf("the file has %v", left)
	}
	if out := r.operate("keys", "status"); strings.Contains(out, old.String()) || !strings.Contains(out, fresh) {
		t.Errorf("in the end: %s", out)
	}
	for service, column := range map[string]string{
		"idp": "client_secret from idps", "users": "secret from otp_factors",
	} {
		var sealed []byte
		err := whole.Database(t, r.Postgres, service).QueryRow(t.Context(), "select "+column).Scan(&sealed)
		if first := r.keys()[0]; err != nil || !bytes.HasPrefix(sealed, first[:]) {
			t.Errorf("%s: %x, %v", column, sealed, err)
		}
	}
	if len(imported) == 0 {
		t.Error("nobody was imported")
	}
	t.Logf("%d people were imported meanwhile", len(imported))
	oneMailEach(t, mails, imported, 3*atOnce)
}
