package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// told has the kinds of notices for which a person's change was answered.
type told map[string]bool

// The system is killed many times, during changes of passwords and addresses and before their notices are sent. Each
// change that was answered has a notice. Each notice comes once, to the old address.
func TestKilledBeforeNotices(t *testing.T) {
	t.Parallel()
	kills := rounds(2)
	const people = 4
	goOn := make(chan struct{})
	server := outside.StartMailServer(t, outside.MailConfig{},
		outside.MailFault{At: outside.MAIL, Wait: goOn, Reply: "250 2.1.0 go on"})
	i := whole.New(t, "HERALD_SMTP_URL="+server.URL())
	changes := map[string]told{}
	for round := range kills {
		i.Start()
		for n := range people {
			id := fmt.Sprintf("p%d-%d", round, n)
			i.Must("POST", "/management/v1/users/human/_import", whole.Active(id))
			changes[id] = told{}
		}
		answered := make(chan struct{}, 2*people)
		var mu sync.Mutex
		var changing sync.WaitGroup
		for n := range people {
			id := fmt.Sprintf("p%d-%d", round, n)
			changing.Go(func() {
				change(i, id, func(kind string) {
					mu.Lock()
					changes[id][kind] = true
					mu.Unlock()
					answered <- struct{}{}
				})
			})
		}
		limit := time.After(30 * time.Second)
		for range 1 + rand.IntN(2*people) {
			select {
			case <-answered:
			case <-limit:
				t.Fatal("the changes are not answered")
			}
		}
		_ = i.Stop(syscall.SIGKILL)
		changing.Wait()
	}
	if mails, err := server.Wait(t.Context(), 0); err != nil || len(mails) > 0 {
		t.Fatalf("%d mails came before the relay took any: %v", len(mails), err)
	}
	i.Start()
	close(goOn)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	noticed(ctx, i, server, changes)
}

// change changes a person's password and address and calls done with the kind of each notice that was promised. It
// ends at the first change that is not answered.
func change(i *whole.Instance, id string, done func(kind string)) {
	user := "/management/v1/users/" + id
	for _, c := range []struct{ method, path, body, kind string }{
		{"POST", user + "/password", `{"password":"correct horse battery"}`, "passwordchanged"},
		{"PUT", user + "/email", fmt.Sprintf(`{"email":"new-%s@example.com"}`, id), "emailchanged"},
	} {
		switch status, answer, err := i.Try(c.method, c.path, c.body); {
		case err != nil || status >= http.StatusInternalServerError: // it was killed
			return
		case status != http.StatusOK:
			i.T.Errorf("%s %s answered %d %v", c.method, c.path, status, answer)
			return
		}
		done(c.kind)
	}
}

// noticed waits for the notices of the changes and checks them. It asks the relay before it lists notices, because a
// list also queues those whose events were lost.
func noticed(ctx context.Context, i *whole.Instance, server *outside.MailServer, changes map[string]told) {
	i.T.Helper()
	promised := 0
	for _, c := range changes {
		promised += len(c)
	}
	for n := 0; ; n++ {
		mails, err := server.Wait(ctx, n)
		if err != nil {
			i.T.Errorf("%d of at least %d notices came before somebody looked for them: %v", notices(mails), promised,
				err)
			break
		}
		if n = len(mails); notices(mails) >= promised {
			break
		}
	}
	listed, unanswered := map[string]string{}, 0
	for id, c := range changes {
		kinds := map[string]int{}
		for notification, kind := range sentNotices(ctx, i, id) {
			listed[notification] = id + "@example.com"
			kinds[kind]++
			if !c[kind] {
				unanswered++
			}
		}
		for _, kind := range []string{"passwordchanged", "emailchanged"} {
			if kinds[kind] > 1 || kinds[kind] == 0 && c[kind] {
				i.T.Errorf("%s has %d notices %s, and the change was answered: %v", id, kinds[kind], kind, c[kind])
			}
		}
	}
	mails, err := server.Wait(ctx, 0)
	if err != nil {
		i.T.Fatal(err)
	}
	for _, m := range mails {
		id, _, _ := strings.Cut(strings.Trim(m.MessageID, "<>"), "@")
		if m.Repeat > 0 {
			i.T.Errorf("%s came %d times", id, 1+m.Repeat)
		}
		if to, notice := listed[id]; notice && to != m.To[0] {
			i.T.Errorf("the notice %s went to %s, want %s", id, m.To[0], to)
		}
		delete(listed, id)
	}
	if len(listed) > 0 {
		i.T.Errorf("notices that are sent did not come: %v", listed)
	}
	i.T.Logf("%d answered changes have their notices, and %d others", promised, unanswered)
}

// notices returns how many of the mails are notices.
func notices(mails []outside.Delivery) (n int) {
	for _, m := range mails {
		if strings.Contains(m.MessageID, "-notice@") {
			n++
		}
	}
	return n
}

// sentNotices waits until all mails to a person are sent and returns the kinds of the notices by their ids.
func sentNotices(ctx context.Context, i *whole.Instance, id string) map[string]string {
	i.T.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		sent := map[string]string{}
		answer := i.Must("GET", "/management/v1/users/"+id+"/notifications", "")
		waits := false
		for _, one := range answer["result"].([]any) {
			n := one.(map[string]any)
			waits = waits || n["state"] != "NOTIFICATION_STATE_SENT"
			if strings.HasSuffix(n["id"].(string), "-notice") {
				sent[n["id"].(string)] = n["kind"].(string)
			}
		}
		if !waits {
			return sent
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			i.T.Fatalf("not all mails to %s are sent: %v", id, answer)
		}
	}
}
