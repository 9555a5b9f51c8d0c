package replicas_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// replicas is three processes of each of some services behind two gateways.
type replicas struct {
	*whole.Processes
	gateways []string
	client   *http.Client
}

// newReplicas starts them; users is the first of the services.
func newReplicas(t *testing.T, services ...string) *replicas {
	t.Helper()
	r := &replicas{Processes: whole.NewProcesses(t, outside.StartMailServer(t, outside.MailConfig{}).URL()),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	t.Cleanup(r.client.CloseIdleConnections)
	// Each of many clients may fail sixty times a minute.
	r.Env = append(r.Env, "HERALD_LOG_LEVEL=WARN", "HERALD_TRUSTED_PROXIES=127.0.0.1,::1")
	r.Start(services[0]) // makes the administrator
	var starting sync.WaitGroup
	for _, service := range slices.Repeat(services, 3)[1:] {
		starting.Go(func() { r.Start(service) })
	}
	for range 2 {
		address := whole.FreeAddress(t)
		r.gateways = append(r.gateways, "http://"+address)
		starting.Go(func() { r.Start("gateway", "HERALD_LISTEN="+address) })
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	r.ReadToken()
	return r
}

// answer is a gateway's response, with the times of the request and the response.
type answer struct {
	status      int
	body        map[string]any
	asked, came time.Time
}

// at returns a value of the body, such as "user.details.sequence", or nil.
func (a answer) at(path string) any {
	var v any = a.body
	for name := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// ask sends a request to one of the gateways. organization may be empty.
func (r *replicas) ask(gateway int, token, organization, method, path, body string) (answer, error) {
	ctx, cancel := context.WithTimeout(r.T.Context(), time.Minute)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, r.gateways[gateway%len(r.gateways)]+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("Content-Type", "application/json")
	if organization != "" {
		q.Header.Set("x-service-orgid", organization)
	}
	a := answer{asked: time.Now()}
	w, err := r.client.Do(q)
	if err != nil {
		return a, err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	a.came, a.status = time.Now(), w.StatusCode
	if err == nil {
		err = json.Unmarshal(text, &a.body)
	}
	return a, err
}

// admin sends a request as the administrator and fails the test unless the status is 200.
func (r *replicas) admin(gateway int, organization, method, path, body string) answer {
	r.T.Helper()
	a, err := r.ask(gateway, r.Token, organization, method, path, body)
	if err != nil || a.status != http.StatusOK {
		r.T.Errorf("%s %s %s: %d %v, %v", method, path, body, a.status, a.body, err)
	}
	return a
}

// change is a write, and the read and the search that must show it.
type change struct {
	organization               string
	method, path, body         string
	read, found                string // GET, and the path of the object in its answer
	search, query, field, want string // POST, its filter, and the field that identifies the object
}

// changes are the changes that a worker makes in its own organization, in this order.
func (r *replicas) changes(organization, name string, n int) change {
	switch n % 3 {
	case 0:
		return change{
			method: "POST", path: "/management/v1/users/human/_import", body: whole.Active(name),
			read: "/management/v1/users/" + name, found: "user",
			search: "/management/v1/users/_search", query: fmt.Sprintf(`{"userNameQuery":{"userName":%q}}`, name),
			field: "userName", want: name,
		}
	case 1:
		return change{
			organization: organization,
			method:       "PUT", path: "/management/v1/orgs/me", body: fmt.Sprintf(`{"name":%q}`, name),
			read: "/management/v1/orgs/me", found: "org",
			search: "/admin/v1/orgs/_search", query: fmt.Sprintf(`{"nameQuery":{"name":%q}}`, name), field: "name",
			want: name,
		}
	default:
		return change{
			method: "POST", path: "/management/v1/orgs", body: fmt.Sprintf(`{"name":%q}`, name),
			read: "/admin/v1/orgs/ID", found: "org",
			search: "/admin/v1/orgs/_search", query: fmt.Sprintf(`{"nameQuery":{"name":%q}}`, name), field: "name",
			want: name,
		}
	}
}

// loop writes, reads and searches through alternating gateways. It returns whether the read and the
// search show the change.
func (r *replicas) loop(n int, c change) bool {
	r.T.Helper()
	written := r.admin(n, c.organization, c.method, c.path, c.body)
	id, _ := written.at("id").(string)
	read := r.admin(n+1, c.organization, "GET", strings.Replace(c.read, "ID", id, 1), "")
	found := r.admin(n/2, c.organization, "POST", c.search, `{"queries":[`+c.query+`]}`)
	result, _ := found.at("result").([]any)
	sequence := written.at("details.sequence")
	if sequence == nil || read.at(c.found+".details.sequence") != sequence || read.at(c.found+"."+c.field) != c.want ||
		len(result) != 1 || result[0].(map[string]any)[c.field] != c.want {
		r.T.Errorf("%s %s %s\nanswered %v\nread %v\nfound %v", c.method, c.path, c.body, written.body, read.body,
			found.body)
		return false
	}
	return true
}

// loops is how often a change is written, read and searched. A fault of one loop in a thousand is
// seen by 95 of 100 runs of 3,000; make bench runs more.
var loops = flag.Int64("loops", 3_000, "how often a change is written, read and searched")

const (
	workers = 8
	rounds  = 100 // of giving and taking
)

// With three replicas of each service and two gateways, every read, list and search shows a change
// that was answered with 200. A granted role can be used at once. A removed role or token is
// refused within 100 ms.
func TestThreeReplicas(t *testing.T) {
	r := newReplicas(t, services.Names()...)
	began := time.Now()
	var next, hits atomic.Int64
	loops := *loops
	var working sync.WaitGroup
	for w := range workers {
		working.Go(func() {
			org, _ := r.admin(w, "", "POST", "/management/v1/orgs", fmt.Sprintf(`{"name":"worker %d"}`, w)).
				at("id").(string)
			for n := next.Add(1); n <= loops && !t.Failed(); n = next.Add(1) {
				if r.loop(int(n/3)+w, r.changes(org, fmt.Sprintf("w%d-n%d", w, n), int(n))) {
					hits.Add(1)
				}
			}
		})
	}
	working.Wait()
	t.Logf("%d of %d loops of write, read and search saw what was written, in %s", hits.Load(), loops,
		time.Since(began).Round(time.Millisecond))
	if hits.Load() != loops {
		t.FailNow()
	}
	r.mails(t)
	r.roles(t)
	r.tokens(t)
}

// mails requests mails. Each must be in the list, whichever replicas answer the two requests, also
// before its event has come.
func (r *replicas) mails(t *testing.T) {
	t.Helper()
	const aDay = 10 // mails to a person
	var path string
	for n := range 2 * rounds {
		if n%aDay == 0 {
			user, _ := r.member(fmt.Sprint("reader-", n))
			path = "/management/v1/users/" + user
		}
		asked := r.admin(n, "", "POST", path+"/password/_reset", "{}").at("notificationId")
		listed := r.admin(n/2, "", "GET", path+"/notifications", "")
		result, _ := listed.at("result").([]any)
		if asked == nil || !slices.ContainsFunc(result, func(m any) bool { return m.(map[string]any)["id"] == asked }) {
			t.Fatalf("round %d: mail %v is not among %v", n, asked, listed.body)
		}
	}
}

// member makes a person with a token, and returns both.
func (r *replicas) member(name string) (id, token string) {
	r.T.Helper()
	r.admin(0, "", "POST", "/management/v1/users/human/_import", whole.Active(name))
	token, _ = r.newToken(0, name)
	return name, token
}

func (r *replicas) newToken(gateway int, user string) (token, id string) {
	r.T.Helper()
	a := r.admin(gateway, "", "POST", "/management/v1/users/"+user+"/pats", "{}")
	token, _ = a.at("token").(string)
	id, _ = a.at("tokenId").(string)
	return token, id
}

// roles grants and removes a role many times.
func (r *replicas) roles(t *testing.T) {
	t.Helper()
	user, token := r.member("member")
	prompt(t, "a role that was taken", func(n int) []time.Duration {
		r.admin(n, "", "POST", "/management/v1/orgs/me/members",
			fmt.Sprintf(`{"userId":%q,"roles":["ORG_OWNER_VIEWER"]}`, user))
		r.atOnce(t, token)
		taken := r.admin(n/2, "", "DELETE", "/management/v1/orgs/me/members/"+user, "")
		return r.refusedAfter(t, token, http.StatusForbidden, taken.came)
	})
}

// tokens makes and removes a token many times.
func (r *replicas) tokens(t *testing.T) {
	t.Helper()
	user, _ := r.member("bearer")
	r.admin(0, "", "POST", "/management/v1/orgs/me/members",
		fmt.Sprintf(`{"userId":%q,"roles":["ORG_OWNER_VIEWER"]}`, user))
	prompt(t, "a token that was ended", func(n int) []time.Duration {
		token, id := r.newToken(n, user)
		r.atOnce(t, token)
		ended := r.admin(n/2, "", "DELETE", "/management/v1/users/"+user+"/pats/"+id, "")
		return r.refusedAfter(t, token, http.StatusUnauthorized, ended.came)
	})
}

const guarded = "/management/v1/orgs/me"

// atOnce checks that both gateways accept the token at once.
func (r *replicas) atOnce(t *testing.T, token string) {
	t.Helper()
	for g := range r.gateways {
		if a, err := r.ask(g, token, "", "GET", guarded, ""); err != nil || a.status != http.StatusOK {
			t.Fatalf("gateway %d refuses what was granted: %d %v, %v", g, a.status, a.body, err)
		}
	}
}

// refusedAfter sends requests to each gateway until it refuses. It returns how long after the end
// each gateway still accepted one, by the time at which the request was sent. After its first
// refusal a gateway must refuse all requests. The pauses leave CPU time for handling the event.
func (r *replicas) refusedAfter(t *testing.T, token string, want int, end time.Time) []time.Duration {
	t.Helper()
	late := make([]time.Duration, len(r.gateways))
	var asking sync.WaitGroup
	for g := range r.gateways {
		asking.Go(func() {
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			for refusals := 0; refusals < 3; <-tick.C {
				a, err := r.ask(g, token, "", "GET", guarded, "")
				switch {
				case err != nil || a.status != http.StatusOK && a.status != want:
					t.Errorf("gateway %d: %d %v, %v", g, a.status, a.body, err)
					return
				case a.status == want:
					refusals++
				case refusals > 0:
					t.Errorf("gateway %d refused and lets in again", g)
					return
				default:
					if late[g] = a.asked.Sub(end); late[g] > cacheTime {
						t.Errorf("gateway %d let in %s after the end", g, late[g])
						return
					}
				}
			}
		})
	}
	asking.Wait()
	return late
}

// cacheTime is how long a gateway caches a caller whom no event ends.
const cacheTime = 2 * time.Second

// prompt checks that 99 of 100 refusals come within 100 ms.
func prompt(t *testing.T, what string, round func(n int) []time.Duration) {
	t.Helper()
	var late []time.Duration
	for n := 0; n < rounds && !t.Failed(); n++ {
		late = append(late, round(n)...)
	}
	if !t.Failed() {
		within(t, what+" was accepted", late)
	}
}

// within checks that 99 of 100 requests that were accepted too late came no more than 100 ms after the end.
func within(t *testing.T, what string, late []time.Duration) {
	t.Helper()
	slices.Sort(late)
	p99 := late[len(late)*99/100]
	t.Logf("%s, of %d times, for at most %s (p50 %s, p99 %s)", what, len(late), late[len(late)-1], late[len(late)/2],
		p99)
	if p99 > 100*time.Millisecond {
		t.Errorf("%s for more than 100 ms", what)
	}
}
