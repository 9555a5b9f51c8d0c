package faults_test

import (
	"context"
	"fmt"
	"maps"
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

// atOnce is how many mails the notifier sends at once: as many may be at their final dot when it dies.
const atOnce = 8

// The system is killed many times during imports. It keeps every answered import, sends one mail for
// each, and leaves no incomplete rows.
func TestKilledUnderImports(t *testing.T) {
	t.Parallel()
	kills := rounds(3)
	server := outside.StartMailServer(t, outside.MailConfig{})
	i := whole.New(t, "HERALD_SMTP_URL="+server.URL())
	answered := map[string]bool{}
	tried := 0
	for range kills {
		i.Start()
		dead, first := make(chan struct{}), make(chan struct{}, 1)
		var mu sync.Mutex
		var importers sync.WaitGroup
		for range 4 {
			importers.Go(func() {
				for {
					select {
					case <-dead:
						return
					default:
					}
					mu.Lock()
					tried++
					id := fmt.Sprintf("u%05d", tried)
					mu.Unlock()
					if status, _, err := i.Try("POST", "/management/v1/users/human/_import",
						whole.Person(id)); err == nil && status == http.StatusOK {
						mu.Lock()
						answered[id] = true
						mu.Unlock()
						select {
						case first <- struct{}{}:
						default:
						}
					}
				}
			})
		}
		select {
		case <-first: // each kill ends a process that has promised something
		case <-time.After(time.Minute):
			t.Fatal("no import was answered within a minute")
		}
		<-time.After(time.Duration(100+rand.IntN(400)) * time.Millisecond) // the test needs a random moment
		i.Stop(syscall.SIGKILL)
		close(dead)
		importers.Wait()
	}
	i.Start()
	ids := imported(i)
	t.Logf("%d kills, %d imports tried, %d answered, %d written", kills, tried, len(answered), len(ids))
	for id := range answered {
		if !ids[id] {
			t.Errorf("the import of %s was answered and is lost", id)
		}
	}
	if len(answered) < kills {
		t.Errorf("only %d imports were answered: the test proves little", len(answered))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	repeats, uncertain := allMailed(ctx, i, server, ids)
	t.Logf("%d repeated deliveries, %d mails at whose final dot the process died twice", repeats, uncertain)
	if repeats > kills*atOnce || uncertain > kills {
		t.Errorf("%d mails were delivered again, %d given up, in %d kills", repeats, uncertain, kills)
	}
}

// imported returns the ids of all imported users.
func imported(i *whole.Instance) map[string]bool {
	i.T.Helper()
	ids := map[string]bool{}
	for offset := 0; ; offset += 1000 {
		status, page := i.Call("POST", "/management/v1/users/_search", fmt.Sprintf(`{"query":{"offset":%d,`+
			`"asc":true},"queries":[{"stateQuery":{"state":"USER_STATE_INITIAL"}}]}`, offset))
		if status != http.StatusOK {
			i.T.Fatalf("search: %d %v", status, page)
		}
		for _, u := range page["result"].([]any) {
			ids[u.(map[string]any)["id"].(string)] = true
		}
		if len(page["result"].([]any)) < 1000 {
			return ids
		}
	}
}

// allMailed waits until every user's mail is sent, checks that each has one Message-ID, and returns
// the number of repeated deliveries and of mails that are uncertain after two attempts without an
// answer. It asks the relay before it lists mails, because a list also queues mails whose events
// were lost.
func allMailed(
	ctx context.Context, i *whole.Instance, server *outside.MailServer, ids map[string]bool,
) (repeats, uncertain int) {
	i.T.Helper()
	unsent := unsent(ctx, server, ids)
	for id := range ids {
		state, waited := mailed(ctx, i, id)
		switch {
		case state == "NOTIFICATION_STATE_UNCERTAIN":
			uncertain++
		case unsent[id] && !waited:
			i.T.Errorf("the mail to %s was not sent before somebody looked for it", id)
		}
	}
	mails, err := server.Wait(ctx, 0)
	if err != nil {
		i.T.Fatal(err)
	}
	messageIDs := map[string]string{}
	for _, m := range mails {
		if m.Repeat > 0 {
			repeats++
		}
		if first, ok := messageIDs[m.To[0]]; ok && first != m.MessageID {
			i.T.Errorf("%s got two different mails", m.To[0])
		}
		messageIDs[m.To[0]] = m.MessageID
	}
	if len(messageIDs) < len(ids)-uncertain {
		i.T.Errorf("%d of %d users have a mail, %d are uncertain", len(messageIDs), len(ids), uncertain)
	}
	return repeats, uncertain
}

// unsent returns the users who have no mail when none has come for half a minute. A mail whose notifier died at the
// final dot waits for two minutes.
func unsent(ctx context.Context, server *outside.MailServer, ids map[string]bool) map[string]bool {
	left := maps.Clone(ids)
	for n := 1; len(left) > 0; {
		mails, err := server.Wait(ctx, n)
		if err != nil {
			return left
		}
		for _, m := range mails {
			delete(left, strings.TrimSuffix(m.To[0], "@example.com"))
		}
		n = len(mails) + 1
	}
	return left
}

// mailed waits until the only mail to a user has ended, and returns its state and whether it waited for another try,
// which it then gets at once.
func mailed(ctx context.Context, i *whole.Instance, id string) (state string, waited bool) {
	i.T.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		status, answer := i.Call("GET", "/management/v1/users/"+id+"/notifications", "")
		found, _ := answer["result"].([]any)
		if status != http.StatusOK || len(found) > 1 {
			i.T.Fatalf("notifications of %s: %d %v", id, status, answer)
		}
		if len(found) == 1 {
			mail := found[0].(map[string]any)
			switch state = mail["state"].(string); state {
			case "NOTIFICATION_STATE_SENT", "NOTIFICATION_STATE_UNCERTAIN":
				return state, waited
			case "NOTIFICATION_STATE_RETRYING":
				waited = true
				i.Call("POST", "/management/v1/users/"+id+"/notifications/"+mail["id"].(string)+"/_resend", "{}")
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			i.T.Fatalf("the mail to %s: %v", id, answer)
		}
	}
}
