package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/smtpd"
)

// crowd is a bulk import of n users who get a mail each.
func crowd(n int) (body string, ids map[string]bool) {
	ids = map[string]bool{}
	var rows []string
	for k := range n {
		id := fmt.Sprintf("c%05d", k)
		ids[id] = true
		rows = append(rows, fmt.Sprintf(`{"userId":%q,"user":{"userName":%q,"profile":{"firstName":"Mini",`+
			`"lastName":"Mouse"},"email":{"email":"%s@example.com"}}}`, id, id, id))
	}
	return `{"dataOrgs":{"orgs":[{"orgId":"crowd","org":{"name":"Crowd"},"humanUsers":[` + strings.Join(rows, ",") +
		`]}]}}`, ids
}

// everybody fails the test unless each user of the import was told once as imported.
func everybody(t *testing.T, answer map[string]any, ids map[string]bool) {
	t.Helper()
	if errs := answer["errors"].([]any); len(errs) > 0 {
		t.Fatalf("errors: %v", errs)
	}
	told := map[string]bool{}
	for _, org := range answer["success"].(map[string]any)["orgs"].([]any) {
		for _, id := range org.(map[string]any)["humanUserIds"].([]any) {
			if told[id.(string)] {
				t.Errorf("%s was told twice", id)
			}
			told[id.(string)] = true
		}
	}
	if len(told) != len(ids) {
		t.Errorf("%d of %d users", len(told), len(ids))
	}
}

// Killed again and again under a bulk import, which is sent again: each user is there once, with one mail.
func TestKilledUnderBulkImport(t *testing.T) {
	t.Parallel()
	const kills = 6
	server := smtpd.Start(t, smtpd.Config{})
	i := whole.New(t, "HERALD_SMTP_URL="+server.URL())
	body, ids := crowd(1500)
	for range kills {
		i.Start()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _, _ = i.Try("POST", "/admin/v1/import", body)
		}()
		<-time.After(time.Duration(50+rand.IntN(400)) * time.Millisecond) // the moment of death is the test's subject
		i.Stop(syscall.SIGKILL)
		<-done
	}
	i.Start()
	for range 2 {
		status, answer := i.Call("POST", "/admin/v1/import", body)
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, answer)
		}
		everybody(t, answer, ids)
	}
	oneMailEach(t, server, ids, kills)
}

// oneMailEach holds that every user has got one mail; those at whose end their sender died may have come again, as the
// same ones.
func oneMailEach(t *testing.T, server *smtpd.Server, ids map[string]bool, kills int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if left := unsent(ctx, server, ids); len(left) > 0 {
		t.Fatalf("%d users got no mail", len(left))
	}
	mails, err := server.Wait(ctx, len(ids))
	if err != nil {
		t.Fatal(err)
	}
	messages, repeats := map[string]string{}, 0
	for _, m := range mails {
		to, id := m.To[0], m.MessageID
		if id == "" || messages[to] != "" && messages[to] != id {
			t.Errorf("%s got the mails %q and %q", to, messages[to], id)
		}
		if messages[to] == id {
			repeats++
		}
		messages[to] = id
	}
	if len(messages) != len(ids) || repeats > kills*atOnce {
		t.Errorf("%d addresses got mails, %d again, in %d kills", len(messages), repeats, kills)
	}
}

// The process of users is killed under an import and started again. An import that has begun does not notice it.
func TestProcessesKilledUnderBulkImport(t *testing.T) {
	t.Parallel()
	server := smtpd.Start(t, smtpd.Config{})
	p := whole.NewProcesses(t, server.URL())
	users := p.StartAll()
	body, ids := crowd(1500)
	for range 3 {
		answers := make(chan map[string]any, 1)
		go func() {
			answers <- taken(p, body)
		}()
		<-time.After(time.Duration(50+rand.IntN(300)) * time.Millisecond)
		users = replaced(t, p, users)
		answer := <-answers
		if t.Failed() {
			return
		}
		everybody(t, answer, ids)
	}
	oneMailEach(t, server, ids, 0)
}

// taken sends an import until it is taken, for a minute at most, and returns the answer. Where
// users is away before the first batch, the import is refused whole with 503, to be sent again.
func taken(p *whole.Processes, body string) map[string]any {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); ; <-tick.C {
		status, answer, err := p.Try("POST", "/admin/v1/import", body)
		if status == http.StatusServiceUnavailable && time.Now().Before(limit) {
			continue
		}
		if err != nil || status != http.StatusOK {
			p.T.Errorf("%d %v %v", status, answer, err)
		}
		return answer
	}
}

// replaced kills the process of users and starts another.
func replaced(t *testing.T, p *whole.Processes, users *exec.Cmd) *exec.Cmd {
	t.Helper()
	if err := users.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = users.Wait() // killed
	return p.Start("users")
}
