package faults_test

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

var flood = flag.Duration("flood", 0, "how long an organization floods; some seconds, without exact bounds, if 0")

// What the victim of a flood may notice: answers that take twice as long, and a mail after five seconds.
const (
	mostSlower = 2.0
	mostDelay  = 5 * time.Second
)

// victim is an organization that works as always, one request after the other.
type victim struct {
	*whole.Instance
	client client
	count  int
	// mailed are the users who get a mail.
	mailed []string
}

// step is one thing that the victim does.
type step struct{ name, method, path, body string }

// steps returns what the victim does in one round.
func (v *victim) steps() []step {
	v.count++
	id := fmt.Sprint("quiet-new-", v.count)
	v.mailed = append(v.mailed, id)
	return []step{
		{"read", "GET", usersPath + "quiet", ""},
		{"search", "POST", usersPath + "_search", `{"query":{"limit":20},"queries":[{"userNameQuery":{
			"userName":"qui","method":"TEXT_QUERY_METHOD_STARTS_WITH"}}]}`},
		{"update", "PUT", usersPath + "quiet/profile",
			fmt.Sprintf(`{"firstName":"Mini","lastName":"Mouse %d"}`, v.count)},
		{"import", "POST", usersPath + "human/_import", whole.Person(id)},
		{"password", "POST", usersPath + "quiet/password", `{"password":"correct horse battery"}`},
	}
}

// work does every step again and again for a time, and adds how long each took to times.
func (v *victim) work(d time.Duration, times map[string][]time.Duration) {
	v.T.Helper()
	for begun := time.Now(); time.Since(begun) < d; {
		for _, s := range v.steps() {
			asked := time.Now()
			if _, err := v.client.send(s.method, s.path, s.body); err != nil {
				v.T.Fatalf("%s: %v", s.name, err)
			}
			times[s.name] = append(times[s.name], time.Since(asked))
		}
		asked := time.Now()
		if _, err := v.client.logIn("quiet", "correct horse battery"); err != nil {
			v.T.Fatalf("login: %v", err)
		}
		times["login"] = append(times["login"], time.Since(asked))
		times[floor] = append(times[floor], v.reckon())
	}
}

// floor is the name for the times of work in this process that needs a processor as long as the hash of a password. If
// this work becomes slower, the machine is the cause and not Herald.
const floor = "work in the test"

func (v *victim) reckon() time.Duration {
	v.T.Helper()
	begun := time.Now()
	if _, err := pbkdf2.Key(sha256.New, "correct horse battery", []byte("salt"), 100_000, 32); err != nil {
		v.T.Fatal(err)
	}
	return time.Since(begun)
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// slowestMail waits until all mails are sent, and returns the longest time from an import to its mail.
func (v *victim) slowestMail(ctx context.Context) time.Duration {
	v.T.Helper()
	slowest := time.Duration(0)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, id := range v.mailed {
		for {
			sent, took := v.sent(id)
			if slowest = max(slowest, took); sent {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				v.T.Fatalf("the mail to %s is not sent", id)
			}
		}
	}
	return slowest
}

// sent reports whether the mail to a user is sent, and how long after the import that was.
func (v *victim) sent(id string) (sent bool, took time.Duration) {
	v.T.Helper()
	user := v.Must("GET", usersPath+id, "")["user"].(map[string]any)
	made := moment(v.T, user["details"].(map[string]any)["creationDate"])
	list := v.Must("GET", usersPath+id+"/notifications", "")["result"].([]any)
	if len(list) != 1 {
		return false, 0
	}
	n := list[0].(map[string]any)
	attempts := n["attempts"].([]any)
	if n["state"] != "NOTIFICATION_STATE_SENT" || len(attempts) == 0 {
		return false, 0
	}
	return true, moment(v.T, attempts[len(attempts)-1].(map[string]any)["time"]).Sub(made)
}

func moment(t testing.TB, text any) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text.(string))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// An owner of an organization floods the system with all kinds of requests. Another organization's requests take at
// most twice as long as before and after, and its mails are sent within 5 s. Without -flood the bounds are so wide that
// the test fails only if the flood stops others: a few requests of a millisecond each may wait long for a processor.
func TestFloodOfAnotherOrganization(t *testing.T) { // not parallel: it compares times
	before, during, slower, late, soon := time.Second, 3*time.Second, 30.0, 30*time.Second, 2*time.Second
	if *flood > 0 {
		before, during, slower, late, soon = *flood/4, *flood, mostSlower, mostDelay, 0
	}
	server := outside.StartMailServer(t, outside.MailConfig{})
	i := whole.Start(t, "HERALD_LOG_LEVEL=WARN", "HERALD_SMTP_URL="+server.URL(),
		"HERALD_TRUSTED_PROXIES=127.0.0.1,::1")
	i.Must("POST", usersPath+"human/_import", whole.Active("quiet"))
	v := &victim{Instance: i, client: newClient(i.URL, i.Token)}
	v.client.from = "198.51.100.1" // the flood uses up the posts of its own address
	a := newAttack(t, i)
	quiet, flooded := map[string][]time.Duration{}, map[string][]time.Duration{}
	v.work(before/2, map[string][]time.Duration{}) // the first requests are slower
	v.work(before, quiet)
	stop := a.begin()
	defer stop()
	v.work(during, flooded)
	stop()
	v.work(before, quiet) // what else the machine does may have changed meanwhile
	if *flood == 0 {
		soon = max(soon, 4*median(flooded[floor])) // other tests run at the same time
	}
	for name := range quiet {
		was, is := median(quiet[name]), median(flooded[name])
		ratio := float64(is) / float64(was)
		t.Logf("%s: p50 %s, flooded %s, %.2f times", name, short(was), short(is), ratio)
		if ratio > slower && is > soon && name != floor {
			t.Errorf("%s takes %.1f times as long, want at most %.0f", name, ratio, slower)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	delay := v.slowestMail(ctx)
	t.Logf("%d mails, the slowest after %s; the flood: %s", len(v.mailed), short(delay), a)
	if delay > late {
		t.Errorf("a mail was sent after %s, want %s", short(delay), late)
	}
	for _, k := range a.kinds {
		if k.answered.Load() == 0 {
			t.Errorf("no request of the flood's %s was answered", k.name)
		}
	}
}

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
