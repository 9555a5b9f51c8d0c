package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"herald/deploy/herald/test/whole"
)

const (
	password = "correct horse battery"
	// people log in one after another. A person can have 100 sessions.
	people = 41 // which has no divisor in common with the number of clients
	// patience is how long all clients and mails are waited for. On a busy machine much takes longer than in the
	// figures, and a mail whose outcome is unknown is sent again two minutes later.
	patience = 4 * time.Minute
	// enough answers to what was asked after a kill say that a client is served again.
	enough = 10
)

// answer is what a client got for a request.
type answer struct {
	client int
	asked  time.Time
	err    error // of the connection, or that the answer is 429 or 5xx
}

// load is clients that send requests at a steady rate, whether the earlier ones are answered or not, to both gateways
// in turn.
type load struct {
	*cluster
	clients         []client
	http            *http.Transport
	machine, secret string
	public          string // the address that browsers use

	mu      sync.Mutex
	answers []answer
	more    chan struct{} // closed by the next answer
	// Of these it was answered that they were written: users, projects, cookies of sessions and tokens.
	kept map[string][]string
}

// client sends a request every pause and returns what the answer promises to keep.
type client struct {
	what  string
	pause time.Duration
	send  func(l *load, n int, gateway string) (kept string, err error)
}

// newLoad makes the people and the machine user who log in.
func newLoad(c *cluster) *load {
	c.T.Helper()
	l := &load{cluster: c, http: &http.Transport{MaxIdleConnsPerHost: 64}, public: c.URL, more: make(chan struct{}),
		kept: map[string][]string{}}
	c.T.Cleanup(l.http.CloseIdleConnections)
	c.URL = c.gateways[0]
	for n := range people {
		active := fmt.Sprintf(`"hashedPassword":{"value":%q}`, whole.Hash)
		c.Must("POST", "/management/v1/users/human/_import",
			strings.Replace(whole.Active(fmt.Sprint("person-", n)), active, fmt.Sprintf(`"password":%q`, password), 1))
	}
	l.machine, _ = c.Must("POST", "/management/v1/users/machine", `{"userName":"ci","name":"ci"}`)["userId"].(string)
	l.secret, _ = c.Must("PUT", "/management/v1/users/"+l.machine+"/secret", "{}")["clientSecret"].(string)
	for range 2 {
		l.clients = append(l.clients,
			client{"users", 100 * time.Millisecond, (*load).importUser},
			client{"projects", 100 * time.Millisecond, (*load).createProject},
			client{"sessions", 250 * time.Millisecond, (*load).logIn},
			client{"tokens", 100 * time.Millisecond, (*load).askForToken})
	}
	return l
}

// run sends requests until the context ends, and waits for their answers.
func (l *load) run(ctx context.Context) {
	var busy sync.WaitGroup
	defer busy.Wait()
	for i, c := range l.clients {
		busy.Go(func() {
			tick := time.NewTicker(c.pause)
			defer tick.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				busy.Go(func() {
					asked := time.Now()
					kept, err := c.send(l, n*len(l.clients)+i, l.gateways[n%len(l.gateways)])
					l.add(answer{i, asked, err}, c.what, kept)
				})
				<-tick.C
			}
		})
	}
}

func (l *load) add(a answer, what, kept string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, a)
	if a.err == nil {
		l.kept[what] = append(l.kept[what], kept)
	}
	close(l.more)
	l.more = make(chan struct{})
}

// served waits until each client got enough answers to what it asked for after a moment.
func (l *load) served(since time.Time) {
	l.T.Helper()
	limit := time.After(patience)
	for {
		good, missing := make([]int, len(l.clients)), len(l.clients)
		l.mu.Lock()
		for _, a := range l.answers {
			if a.err == nil && a.asked.After(since) {
				if good[a.client]++; good[a.client] == enough {
					missing--
				}
			}
		}
		more := l.more
		l.mu.Unlock()
		if missing == 0 {
			return
		}
		select {
		case <-more:
		case <-limit:
			l.T.Fatalf("%s later %d clients are not served", patience, missing)
		}
	}
}

// failed returns the requests from one moment to another one that failed, by why they did, their number and that of all
// requests, and how long after the first moment the last of them was sent.
func (l *load) failed(from, to time.Time) (why map[string]int, failed, all int, last time.Duration) {
	why = map[string]int{}
	for _, a := range l.answers {
		if a.asked.Before(from) || a.asked.After(to) {
			continue
		}
		if all++; a.err != nil {
			failed++
			why[a.err.Error()]++
			last = max(last, a.asked.Sub(from))
		}
	}
	return why, failed, all, last
}

// ask sends a request and returns its answer's body, and its cookies.
func (l *load) ask(r *http.Request, n, want int) (body map[string]any, cookies string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// Each of many clients may fail sixty times a minute.
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", n%250))
	w, err := l.http.RoundTrip(r.WithContext(ctx))
	if errors.Is(err, syscall.ECONNREFUSED) { // a balancer asks the other gateway
		w, err = l.http.RoundTrip(l.elsewhere(r.WithContext(ctx)))
	}
	if err != nil {
		return nil, "", err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return nil, "", err
	}
	if w.StatusCode != want {
		// A busy machine may be too slow for the load, which 429 says.
		if w.StatusCode < http.StatusInternalServerError && w.StatusCode != http.StatusTooManyRequests {
			l.T.Errorf("%s %s: %s %s", r.Method, r.URL, w.Status, text)
		}
		return nil, "", errors.New(w.Status)
	}
	for _, c := range w.Cookies() {
		cookies += c.Name + "=" + c.Value + "; "
	}
	_ = json.Unmarshal(text, &body) // pages have none
	return body, cookies, nil
}

// elsewhere returns a request that was not sent, for the other gateway.
func (l *load) elsewhere(r *http.Request) *http.Request {
	other := l.gateways[0]
	if strings.HasSuffix(other, r.URL.Host) {
		other = l.gateways[1]
	}
	again := r.Clone(r.Context())
	again.URL.Host = strings.TrimPrefix(other, "http://")
	if r.GetBody != nil {
		again.Body, _ = r.GetBody() // never fails for texts
	}
	return again
}

// call sends a request to the API as the administrator.
func (l *load) call(n int, method, address, body string) error {
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+l.Token)
	r.Header.Set("Content-Type", "application/json")
	_, _, err = l.ask(r, n, http.StatusOK)
	return err
}

func (l *load) importUser(n int, gateway string) (id string, err error) {
	id = fmt.Sprint("user-", n)
	return id, l.call(n, http.MethodPost, gateway+"/management/v1/users/human/_import", whole.Person(id))
}

func (l *load) createProject(n int, gateway string) (name string, err error) {
	name = fmt.Sprint("project-", n)
	return name, l.call(n, http.MethodPost, gateway+"/management/v1/projects", fmt.Sprintf(`{"name":%q}`, name))
}

// post sends a form.
func (l *load) post(
	n int, address string, form url.Values, want int, header ...string,
) (body map[string]any, cookies string, err error) {
	r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if header == nil {
		r.SetBasicAuth(l.machine, l.secret)
	}
	return l.ask(r, n, want)
}

func (l *load) logIn(n int, gateway string) (cookies string, err error) {
	form := url.Values{"name": {fmt.Sprint("person-", n%people)}, "current": {password}}
	_, cookies, err = l.post(n, gateway+"/ui/login/password", form, http.StatusSeeOther, "Origin", l.public, "Cookie",
		whole.Visited)
	if err == nil && !strings.Contains(cookies, "herald-session=") {
		err = fmt.Errorf("303 without a session: %s", cookies)
	}
	return whole.Visited + "; " + cookies, err
}

func (l *load) askForToken(n int, gateway string) (token string, err error) {
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"openid"}}
	body, _, err := l.post(n, gateway+"/oauth/v2/token", form, http.StatusOK)
	token, _ = body["access_token"].(string)
	return token, err
}
