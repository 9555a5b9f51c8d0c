package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/shared/testkit/smtpd"
)

const kills = 50

// Killed again and again under imports, the system keeps every import that it
// answered, sends exactly one mail for each, and leaves nothing half-written.
func TestKilledUnderImports(t *testing.T) {
	t.Parallel()
	server := smtpd.Start(t, smtpd.Config{})
	i := newInstance(t, "HERALD_SMTP_URL="+server.URL())
	answered := map[string]bool{}
	tried := 0
	for range kills {
		i.start()
		dead := make(chan struct{})
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
					if status, _, err := i.try("POST", "/management/v1/users/human/_import", importBody(id)); err == nil && status == http.StatusOK {
						mu.Lock()
						answered[id] = true
						mu.Unlock()
					}
				}
			})
		}
		<-time.After(time.Duration(100+rand.IntN(400)) * time.Millisecond) // the moment of death is the test's subject
		i.stop(syscall.SIGKILL)
		close(dead)
		importers.Wait()
	}
	i.start()
	ids := i.imported()
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
	repeats := i.allMailed(ctx, server, ids)
	t.Logf("%d repeated deliveries", repeats)
	if repeats > kills {
		t.Errorf("%d mails were delivered again in %d kills", repeats, kills)
	}
	for id := range ids {
		if status, answer := i.call("GET", "/management/v1/users/"+id+"/notifications", ""); status != http.StatusOK || len(answer["result"].([]any)) != 1 {
			t.Errorf("notifications of %s: %d %v", id, status, answer)
		}
	}
}

func importBody(id string) string {
	return fmt.Sprintf(`{"userId":%q,"userName":%q,"profile":{"firstName":"Mini","lastName":"Mouse"},"email":{"email":"%s@example.com"}}`, id, id, id)
}

// imported lists the ids of all users that were imported.
func (i *instance) imported() map[string]bool {
	i.t.Helper()
	ids := map[string]bool{}
	for offset := 0; ; offset += 1000 {
		status, page := i.call("POST", "/management/v1/users/_search", fmt.Sprintf(`{"query":{"offset":%d,"asc":true},"queries":[{"stateQuery":{"state":"USER_STATE_INITIAL"}}]}`, offset))
		if status != http.StatusOK {
			i.t.Fatalf("search: %d %v", status, page)
		}
		for _, u := range page["result"].([]any) {
			ids[u.(map[string]any)["id"].(string)] = true
		}
		if len(page["result"].([]any)) < 1000 {
			return ids
		}
	}
}

// allMailed waits until every user has a mail, holds that each has one Message-ID,
// and answers with the number of repeated deliveries.
func (i *instance) allMailed(ctx context.Context, server *smtpd.Server, ids map[string]bool) (repeats int) {
	i.t.Helper()
	messageIDs := map[string]string{}
	for seen := 0; len(messageIDs) < len(ids); {
		// In steps, as each wait is bounded: what counts is that mails keep coming.
		mails, err := server.Wait(ctx, max(seen+1, min(seen+500, len(ids))))
		if err != nil {
			i.t.Fatalf("%d of %d users have a mail: %v", len(messageIDs), len(ids), err)
		}
		for _, m := range mails[seen:] {
			if m.Repeat > 0 {
				repeats++
			}
			if first, ok := messageIDs[m.To[0]]; ok && first != m.MessageID {
				i.t.Errorf("%s got two different mails", m.To[0])
			}
			messageIDs[m.To[0]] = m.MessageID
		}
		seen = len(mails)
	}
	return repeats
}
