package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// crowd is a bulk import of users of an organization of their own. Every tenth gets a mail.
type crowd struct {
	org  string
	body string
	// ids are all, mailed those who get a mail.
	ids, mailed map[string]bool
}

func newCrowd(org string, n int) crowd {
	c := crowd{org: org, ids: map[string]bool{}, mailed: map[string]bool{}}
	var rows []string
	for k := range n {
		id := fmt.Sprintf("%s-%05d", org, k)
		c.ids[id] = true
		person := whole.Active(id)
		if k%10 == 0 {
			c.mailed[id] = true
			person = whole.Person(id)
		}
		person = strings.Replace(person, fmt.Sprintf(`{"userId":%q,`, id), "{", 1)
		rows = append(rows, fmt.Sprintf(`{"userId":%q,"user":%s}`, id, person))
	}
	c.body = fmt.Sprintf(`{"dataOrgs":{"orgs":[{"orgId":%q,"org":{"name":%q},"humanUsers":[`, org, org) +
		strings.Join(rows, ",") + `]}]}}`
	return c
}

// outcomes fails the test if an answer contains a user twice, or a user who is not in the import. It returns the
// imported users, and whether the import was completed.
func (c crowd) outcomes(t *testing.T, answer map[string]any) (told map[string]bool, ended bool) {
	t.Helper()
	told, ended = map[string]bool{}, true
	for _, org := range answer["success"].(map[string]any)["orgs"].([]any) {
		for _, id := range org.(map[string]any)["humanUserIds"].([]any) {
			if told[id.(string)] || !c.ids[id.(string)] {
				t.Errorf("%s was told twice, or is not of the import", id)
			}
			told[id.(string)] = true
		}
	}
	for _, e := range answer["errors"].([]any) {
		if e.(map[string]any)["type"] != "import" {
			t.Errorf("a row was refused: %v", e)
		}
		ended = false
	}
	return told, ended
}

// everybody fails the test unless the answer reports each user of the import once as imported.
func (c crowd) everybody(t *testing.T, answer map[string]any) {
	t.Helper()
	if told, ended := c.outcomes(t, answer); !ended || len(told) != len(c.ids) {
		t.Fatalf("%d of %d users, %v", len(told), len(c.ids), answer["errors"])
	}
}

// The system is killed again and again during a bulk import, which is then sent again. In the end each user exists
// once, and gets one mail.
func TestKilledUnderBulkImport(t *testing.T) {
	t.Parallel()
	rounds := rounds(2)
	server := outside.StartMailServer(t, outside.MailConfig{})
	i := whole.New(t, "HERALD_SMTP_URL="+server.URL())
	c := newCrowd("crowd", 1500)
	for range rounds {
		i.Start()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _, _ = i.Try("POST", "/admin/v1/import", c.body)
		}()
		<-time.After(time.Duration(50+rand.IntN(400)) * time.Millisecond) // the moment of death is the test's subject
		i.Stop(syscall.SIGKILL)
		<-done
	}
	i.Start()
	for range 2 {
		status, answer := i.Call("POST", "/admin/v1/import", c.body)
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, answer)
		}
		c.everybody(t, answer)
	}
	oneMailEach(t, server, c.mailed, rounds*atOnce)
}

// oneMailEach fails the test unless every user has got one mail. A mail that was being sent when its sender was killed
// may have come again, with the same Message-ID. There may be up to most such mails.
func oneMailEach(t *testing.T, server *outside.MailServer, ids map[string]bool, most int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	left := ids
	for len(left) > 0 && ctx.Err() == nil {
		left = unsent(ctx, server, ids)
	}
	if len(left) > 0 {
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
	if len(messages) != len(ids) || repeats > most {
		t.Errorf("%d addresses got mails, %d again, want at most %d again", len(messages), repeats, most)
	}
}

// victims are the processes that a bulk import needs, with how each is killed and started again.
var victims = []struct {
	name string
	kill func(*testing.T, *whole.Processes)
}{
	{"gateway", killService("gateway")},
	{"users", killService("users")},
	{"notification", killService("notification")},
	{"NATS", func(_ *testing.T, p *whole.Processes) {
		p.Kill("nats")
		p.StartNATS()
	}},
	// Without one of its processes Postgres ends all others, and recovers from its log.
	{"Postgres", func(t *testing.T, p *whole.Processes) {
		db := whole.Database(t, p.Postgres, "users")
		var pid int
		if err := db.QueryRow(t.Context(), `select pid from pg_stat_activity where backend_type = 'checkpointer'`).
			Scan(&pid); err != nil {
			t.Error(err)
		} else if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}},
}

func killService(name string) func(*testing.T, *whole.Processes) {
	return func(_ *testing.T, p *whole.Processes) {
		p.Kill(name)
		p.Start(name)
	}
}

// Each process in turn is killed in the middle of a bulk import. The import is sent until it is completed, and then
// once more. Each user exists once, is once in each answer, and gets one mail.
func TestEachProcessKilledUnderBulkImport(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	p := whole.NewProcesses(t, server.URL())
	keepCommits(t, p)
	p.StartNATS()
	p.StartAll()
	mailed, notifiers := map[string]bool{}, 0
	for round := range rounds(len(victims)) {
		victim := victims[round%len(victims)]
		c := newCrowd(fmt.Sprintf("crowd-%d", round), 2500)
		killed := make(chan struct{})
		answer, err := sendAround(p, c.body, func() {
			defer close(killed)
			victim.kill(t, p)
		})
		<-killed
		told, ended := map[string]bool{}, false
		if err == nil {
			told, ended = c.outcomes(t, answer)
		}
		t.Logf("%s killed: %d of %d users in the first answer, to its end: %t, %v", victim.name, len(told), len(c.ids),
			ended, err)
		for range 2 {
			c.everybody(t, taken(t, p, c))
		}
		for id := range c.mailed {
			mailed[id] = true
		}
		if victim.name == "notification" {
			notifiers++
		}
		if t.Failed() {
			return
		}
		onceEach(t, p, c)
	}
	oneMailEach(t, server, mailed, notifiers*atOnce)
	db := whole.Database(t, p.Postgres, "notification")
	var notified, users int
	err := db.QueryRow(t.Context(), `select count(*), count(distinct user_id) from notifications
		where org_id like 'crowd-%'`).Scan(&notified, &users)
	if err != nil || notified != len(mailed) || users != notified {
		t.Errorf("%d notifications to %d users, want %d: %v", notified, users, len(mailed), err)
	}
}

// keepCommits makes commits outlive a crash of the test's Postgres, which loses the last ones otherwise.
func keepCommits(t *testing.T, p *whole.Processes) {
	t.Helper()
	for _, service := range []string{"users", "notification", "projects", "idp"} {
		db := whole.Database(t, p.Postgres, service)
		if _, err := db.Exec(t.Context(), "alter database herald_"+service+" set synchronous_commit = on"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// sendAround sends an import and calls kill in the middle of it: after the first part has been sent, and before the
// last user is sent.
func sendAround(p *whole.Processes, body string, kill func()) (map[string]any, error) {
	last := strings.LastIndex(body, `{"userId"`)
	cut := rand.IntN(last)
	from, to := io.Pipe()
	go func() {
		_, _ = io.WriteString(to, body[:cut])
		rest := make(chan struct{})
		go func() {
			defer close(rest)
			_, _ = io.WriteString(to, body[cut:last])
		}()
		<-time.After(time.Duration(rand.IntN(30)) * time.Millisecond) // the moment of death is the test's subject
		kill()
		<-rest
		_, _ = io.WriteString(to, body[last:])
		_ = to.Close()
	}()
	r, err := http.NewRequest(http.MethodPost, p.URL+"/admin/v1/import", from)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.Token)
	w, err := http.DefaultClient.Do(r)
	_ = from.CloseWithError(errors.New("answered")) // what was not sent is not needed any more
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	if w.StatusCode != http.StatusOK {
		return nil, errors.New(w.Status)
	}
	var answer map[string]any
	return answer, json.NewDecoder(w.Body).Decode(&answer)
}

// taken sends an import until it is completed, for a minute at most, and returns the answer. While a process does not
// run, the whole import is refused with 503, or its answer says that it ended early.
func taken(t *testing.T, p *whole.Processes, c crowd) map[string]any {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); ; <-tick.C {
		status, answer, err := p.Try("POST", "/admin/v1/import", c.body)
		if err == nil && status == http.StatusOK {
			if _, ended := c.outcomes(t, answer); ended {
				return answer
			}
		}
		if away := []int{http.StatusServiceUnavailable, http.StatusGatewayTimeout}; time.Now().After(limit) ||
			err == nil && status != http.StatusOK && !slices.Contains(away, status) {
			t.Fatalf("%d %v %v", status, answer, err)
		}
	}
}

// onceEach fails the test unless the service users has each user of an import once, with one event. Users who get a
// mail must have one code.
func onceEach(t *testing.T, p *whole.Processes, c crowd) {
	t.Helper()
	var users, events, told, codes int
	db := whole.Database(t, p.Postgres, "users")
	defer db.Close(context.Background())
	err := db.QueryRow(t.Context(), `select (select count(*) from users where org_id = $1), count(*),
		count(distinct aggregate_id), (select count(*) from codes join users on users.id = user_id where org_id = $1)
		from events where organization_id = $1 and name = 'imported'`, c.org).Scan(&users, &events, &told, &codes)
	if err != nil {
		t.Fatal(err)
	}
	if users != len(c.ids) || events != users || told != users || codes != len(c.mailed) {
		t.Errorf("%d users, %d events of %d, %d codes; want %d users, %d codes", users, events, told, codes, len(c.ids),
			len(c.mailed))
	}
}
