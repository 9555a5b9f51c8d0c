package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/fault"
	"herald/shared/testkit/outside"
)

// object is a read and a write of a service's objects. The write's body has %d, a number that the answer of the read
// has at the path got.
type object struct {
	service    string
	make       string // POST
	body       string // with %q, a name
	at         string // where the id stands in the answer
	read       string // with %s, the id
	write, put string
	got        string
}

var objects = []object{
	{
		service: "users", make: "/management/v1/users/human/_import", at: "userId",
		body: `{"userName":%q,"profile":{"firstName":"0","lastName":"Mouse"},"email":{"email":"a@example.com",` +
			`"isEmailVerified":true},"password":"long enough"}`,
		read: "/management/v1/users/%s", write: "/management/v1/users/%s/profile",
		put: `{"firstName":"%d","lastName":"Mouse"}`, got: "user.human.profile.firstName",
	},
	{
		service: "projects", make: "/management/v1/projects", at: "id", body: `{"name":%q}`,
		read: "/management/v1/projects/%s", write: "/management/v1/projects/%[1]s", put: `{"name":"%[2]s %[1]d"}`,
		got: "project.name",
	},
	{
		service: "idp", make: "/management/v1/idps/directory", at: "id",
		body: `{"name":%q,"clientId":"c","clientSecret":"s"}`,
		read: "/management/v1/idps/%s", write: "/management/v1/idps/directory/%s", put: `{"name":"%[2]s %[1]d"}`,
		got: "idp.name",
	},
}

// answers are the slowest answers by status.
type answers map[int]time.Duration

func (a answers) add(status int, took time.Duration) { a[status] = max(a[status], took) }

// load is the calls of one client and what they met.
type load struct {
	object
	id, name string
	sure     int              // the number of the last write that was answered with 200
	sent     int              // the number of the last write
	slowest  [2]time.Duration // of reads and of writes
	late     answers
	unknown  int
	faults   []string
	refused  map[int]bool // the numbers of writes of which the answer said that nothing was written
}

// send reads or writes once.
func (l *load) send(p *whole.Processes, writes int) (status int, answer map[string]any, err error) {
	method, path, body := http.MethodGet, fmt.Sprintf(l.read, l.id), ""
	if writes == 1 {
		l.sent++
		method, path = http.MethodPut, fmt.Sprintf(l.write, l.id)
		body = fmt.Sprintf(l.put+"%.0[2]s", l.sent, l.name)
	}
	began := time.Now()
	status, answer, err = p.Try(method, path, body)
	took := time.Since(began)
	l.slowest[writes] = max(l.slowest[writes], took)
	if err == nil {
		l.late.add(status, took)
	}
	if writes == 1 && err == nil {
		switch status {
		case http.StatusOK:
			l.sure = l.sent
		case http.StatusServiceUnavailable:
			l.refused[l.sent] = true
		}
	}
	return status, answer, err
}

// step reads or writes once. It returns whether that succeeded.
func (l *load) step(p *whole.Processes, writes int) bool {
	status, answer, err := l.send(p, writes)
	switch said := fmt.Sprint(answer["details"]); {
	case err == nil && status == http.StatusOK:
		return true
	case writes == 1 && status == http.StatusGatewayTimeout && strings.Contains(said, fault.ErrOutcomeUnknown.ID):
		l.unknown++
	default:
		l.faults = append(l.faults, fmt.Sprintf("%s, write %d: %d %v %v", l.name, writes, status, answer, err))
	}
	return false
}

// value returns the number of the write that a read shows.
func (l *load) value(t *testing.T, p *whole.Processes) (n int) {
	t.Helper()
	var v any = p.Must(http.MethodGet, fmt.Sprintf(l.read, l.id), "")
	for name := range strings.SplitSeq(l.got, ".") {
		v = v.(map[string]any)[name]
	}
	fields := strings.Fields(v.(string))
	if _, err := fmt.Sscan(fields[len(fields)-1], &n); err != nil {
		t.Fatalf("%s %s is %v", l.service, l.id, v)
	}
	return n
}

// kept fails the test unless the object has the last write that was answered with 200, or a later write whose outcome
// was unknown.
func (l *load) kept(t *testing.T, p *whole.Processes, what string) {
	t.Helper()
	if n := l.value(t, p); n < l.sure || n > l.sent || l.refused[n] {
		t.Errorf("%s: %s has the value of write %d, refused: %t; %d was answered with 200 and %d was the last", what,
			l.name, n, l.refused[n], l.sure, l.sent)
	}
}

// replicated starts two processes of each service and returns the older ones, which hold the locks, and clients.
func replicated(
	t *testing.T, smtp string,
) (p *whole.Processes, older map[string]func(syscall.Signal), clients []*load) {
	t.Helper()
	p, older = whole.NewProcesses(t, smtp), map[string]func(syscall.Signal){}
	for _, service := range []string{"users", "projects", "text", "idp", "notification", "auth"} {
		c := p.Start(service)
		older[service] = func(s syscall.Signal) { _ = c.Process.Signal(s) }
		p.Start(service)
	}
	p.Start("gateway")
	p.ReadToken()
	return p, older, newClients(p, 4)
}

// newClients returns n clients of each kind of object, each with an object of its own.
func newClients(p *whole.Processes, n int) (clients []*load) {
	for _, k := range objects {
		for i := range n {
			l := &load{object: k, name: fmt.Sprintf("%s%d", k.service, i), refused: map[int]bool{}, late: answers{}}
			l.id = p.Must(http.MethodPost, k.make, fmt.Sprintf(k.body, l.name))[k.at].(string)
			l.step(p, 1)
			clients = append(clients, l)
		}
	}
	return clients
}

// run lets all clients read and, after each read, write, until each has succeeded n times in all.
func run(p *whole.Processes, clients []*load, n int, writes bool) {
	var busy sync.WaitGroup
	for _, l := range clients {
		busy.Go(func() {
			for good := 0; good < n; {
				for write := range 2 {
					if (write == 0 || writes) && l.step(p, write) {
						good++
					}
				}
			}
		})
	}
	busy.Wait()
}

// asked are requests to auth, by their names. All but that for a token change nothing.
func asked(t *testing.T, p *whole.Processes) map[string]func() (*http.Request, error) {
	t.Helper()
	project := p.Must(http.MethodPost, "/management/v1/projects", `{"name":"Asked"}`)["id"].(string)
	apps := "/management/v1/projects/" + project + "/apps/"
	const back = "https://shop.example.com/callback"
	web := p.Must(http.MethodPost, apps+"oidc", `{"name":"Web","redirectUris":["`+back+`"]}`)["clientId"].(string)
	api := p.Must(http.MethodPost, apps+"api", `{"name":"API"}`)
	authorize := url.Values{
		"client_id": {web}, "redirect_uri": {back}, "response_type": {"code"}, "scope": {"openid"}, "state": {"s"},
	}
	asAPI := func(path, form string) (*http.Request, error) {
		r, err := http.NewRequest(http.MethodPost, p.URL+path, strings.NewReader(form))
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.SetBasicAuth(api["clientId"].(string), api["clientSecret"].(string))
		}
		return r, err
	}
	return map[string]func() (*http.Request, error){
		"login page": func() (*http.Request, error) {
			return http.NewRequest(http.MethodGet, p.URL+"/ui/login/", nil)
		},
		"authorization": func() (*http.Request, error) {
			return http.NewRequest(http.MethodGet, p.URL+"/oauth/v2/authorize?"+authorize.Encode(), nil)
		},
		"introspection": func() (*http.Request, error) {
			return asAPI("/oauth/v2/introspect", "token="+p.Token)
		},
		"token": func() (*http.Request, error) {
			return asAPI("/oauth/v2/token", "grant_type=client_credentials&scope=openid")
		},
	}
}

// open sends each of the requests n times, and fails the test if an answer takes longer than a limit, which holds on a
// machine with nothing else to do.
func open(t *testing.T, requests map[string]func() (*http.Request, error), n int, limit time.Duration) {
	t.Helper()
	for name, request := range requests {
		var slowest time.Duration
		for range n {
			r, err := request()
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			answer, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusSeeOther &&
				answer.StatusCode != http.StatusFound {
				t.Errorf("%s: %s", name, answer.Status)
			}
			slowest = max(slowest, time.Since(began))
		}
		t.Logf("slowest %s %s", name, slowest.Round(time.Millisecond))
		if slowest > limit+spare() {
			t.Errorf("%s: an answer came after %s", name, slowest)
		}
	}
}

// The limits of answers while one of two replicas of auth, or of each service, is frozen. Without another replica it
// is 7 s.
const (
	limitFrozenAuth = 1500 * time.Millisecond
	limitFrozen     = 3 * time.Second
)

// judge checks how long clients waited, and that no write that was answered with 200 is lost. Writes after it whose
// outcome was unknown may have been made.
func judge(t *testing.T, p *whole.Processes, what string, clients []*load) {
	t.Helper()
	var slowest [2]time.Duration
	unknown := 0
	for _, l := range clients {
		for i := range 2 {
			slowest[i] = max(slowest[i], l.slowest[i])
		}
		unknown += l.unknown
		l.slowest, l.unknown = [2]time.Duration{}, 0
		for _, f := range l.faults {
			t.Error(what, f)
		}
		l.kept(t, p, what)
	}
	t.Logf("%s: slowest read %s, slowest write %s, %d writes with unknown outcome", what,
		slowest[0].Round(time.Millisecond), slowest[1].Round(time.Millisecond), unknown)
	// Without another replica reads take 7 s.
	if slowest[0] > 3*time.Second+spare() || slowest[1] > 10*time.Second+spare() {
		t.Errorf("%s: reads waited for %s, writes for %s", what, slowest[0], slowest[1])
	}
}

// One of two replicas of every service is frozen. The other replica answers reads. Writes that the frozen one has
// received end with an unknown outcome. NATS soon sends it no more requests, and events and mails go on without it.
// When it runs again, it does not execute the old requests. Then it is killed.
func TestReplicasThatFail(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	p, older, clients := replicated(t, server.URL())
	requests := asked(t, p)
	open(t, requests, 1, limitFrozen)
	delete(requests, "token") // a write, which a frozen replica may get
	run(p, clients, 40, true)
	judge(t, p, "before", clients)
	all := func(s syscall.Signal) {
		for _, signal := range older {
			signal(s)
		}
	}
	t.Cleanup(func() { all(syscall.SIGCONT) })
	older["auth"](syscall.SIGSTOP)
	open(t, requests, 10, limitFrozenAuth)
	older["auth"](syscall.SIGCONT)
	all(syscall.SIGSTOP)
	began := time.Now()
	open(t, requests, 10, limitFrozen)
	run(p, clients, 40, true)
	judge(t, p, "frozen", clients)
	p.Import("mailed")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := server.Wait(ctx, 1); err != nil {
		t.Errorf("no mail while replicas are frozen: %v", err)
	}
	t.Logf("mail %s after the freeze", time.Since(began).Round(time.Millisecond))
	all(syscall.SIGCONT)
	run(p, clients, 20, false)
	judge(t, p, "running again", clients)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		run(p, clients, 400, true)
	}()
	all(syscall.SIGKILL)
	<-killed
	judge(t, p, "killed", clients)
}
