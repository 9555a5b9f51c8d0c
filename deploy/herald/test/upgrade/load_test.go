package upgrade_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/secret"
	"herald/shared/testkit"
)

const (
	redirectURI, password = "http://127.0.0.1/callback", "correct horse battery"
	// people log in one after another. A person can have 100 sessions.
	people  = 40
	clients = 6
)

var (
	errNoGateway = errors.New("no gateway is ready")
	errAgain     = errors.New("the connection was closed before the answer: net/http has sent the request again")
)

// load is clients that send requests and never send one again.
type load struct {
	*rollout
	app, machine, secret string
	next                 atomic.Int64 // the number of the next visit

	mu sync.Mutex
	// sent counts all requests by what they are for, why the failed ones by what they are for and their errors.
	sent, why map[string]int
	all       int
	more      chan struct{} // closed by the next answer
	imported  []string      // ids of people of whom an answer says that they were imported
}

// newLoad makes the people, the machine user and the application that log in.
func newLoad(r *rollout) *load {
	r.T.Helper()
	l := &load{rollout: r, sent: map[string]int{}, why: map[string]int{}, more: make(chan struct{})}
	public := r.URL
	r.URL = r.gateways[0].url
	defer func() { r.URL = public }()
	for n := range people {
		active := fmt.Sprintf(`"hashedPassword":{"value":%q}`, whole.Hash)
		r.Must("POST", "/management/v1/users/human/_import",
			strings.Replace(whole.Active(fmt.Sprint("person-", n)), active, fmt.Sprintf(`"password":%q`, password), 1))
	}
	l.machine, _ = r.Must("POST", "/management/v1/users/machine", `{"userName":"ci","name":"ci"}`)["userId"].(string)
	l.secret, _ = r.Must("PUT", "/management/v1/users/"+l.machine+"/secret", "{}")["clientSecret"].(string)
	project, _ := r.Must("POST", "/management/v1/projects", `{"name":"Shop"}`)["id"].(string)
	l.app, _ = r.Must("POST", "/management/v1/projects/"+project+"/apps/oidc", fmt.Sprintf(
		`{"name":"App","appType":"OIDC_APP_TYPE_NATIVE","authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE",
		"redirectUris":[%q],
		"grantTypes":["OIDC_GRANT_TYPE_AUTHORIZATION_CODE","OIDC_GRANT_TYPE_REFRESH_TOKEN"]}`,
		redirectURI))["clientId"].(string)
	return l
}

// run sends requests until the context ends, and waits for the answers.
func (l *load) run(ctx context.Context) {
	var busy sync.WaitGroup
	for range clients {
		busy.Go(func() {
			for ctx.Err() == nil {
				v := visit{load: l, n: l.next.Add(1)}
				_ = v.logIn() == nil && v.work() == nil // the load counts what failed
			}
		})
	}
	busy.Wait()
}

// reach waits until so many requests were sent.
func (l *load) reach(n int) {
	l.T.Helper()
	limit := time.After(time.Minute + time.Duration(n)*100*time.Millisecond)
	for {
		l.mu.Lock()
		all, more := l.all, l.more
		l.mu.Unlock()
		if all >= n {
			return
		}
		select {
		case <-more:
		case <-limit:
			l.T.Fatalf("%d of %d requests were sent: %v", all, n, l.why)
		}
	}
}

// count adds a request that was answered or failed.
func (l *load) count(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all++
	l.sent[what]++
	if err != nil {
		l.why[what+": "+err.Error()]++
	}
	close(l.more)
	l.more = make(chan struct{})
}

// judge fails the test unless all requests were answered as they should be, and everybody who was imported got a mail.
func (l *load) judge() {
	l.T.Helper()
	failed := 0
	for _, why := range slices.Sorted(maps.Keys(l.why)) {
		failed += l.why[why]
		l.T.Errorf("%d times: %s", l.why[why], why)
	}
	l.T.Logf("%d of %d requests failed: %v", failed, l.all, l.sent)
	ctx, cancel := context.WithTimeout(l.T.Context(), time.Minute)
	defer cancel()
	got := map[string]int{}
	waiting := slices.Clone(l.imported)
	for read := 0; len(waiting) > 0; {
		mails, err := l.mails.Wait(ctx, read+1)
		if err != nil {
			l.T.Fatalf("%d of %d people got no mail: %v", len(waiting), len(l.imported), err)
		}
		for _, m := range mails[read:] {
			if got[m.To[0]]++; got[m.To[0]] > 1 {
				l.T.Errorf("%s got %d mails", m.To[0], got[m.To[0]])
			}
		}
		read = len(mails)
		waiting = slices.DeleteFunc(waiting, func(id string) bool { return got[id+"@example.com"] > 0 })
	}
	l.T.Logf("%d people got their mail", len(l.imported))
}

// visit is the n-th round of requests: a person logs in to an application, and then a program works.
type visit struct {
	*load
	n             int64
	access, again string // tokens
}

// logIn is a login with the code flow (RFC 6749, section 4.1), without a browser, and what the application does next.
func (v *visit) logIn() error {
	verifier := secret.RandomString(50)
	query := url.Values{"client_id": {v.app}, "redirect_uri": {redirectURI}, "response_type": {"code"},
		"scope": {"openid offline_access"}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(secret.Hash(verifier))}}
	page, err := v.onward("authorize", http.MethodGet, "/oauth/v2/authorize?"+query.Encode(), "")
	if err != nil {
		return err
	}
	if _, err := v.send("page of the login", http.MethodGet, page.RequestURI(), "",
		"Cookie", whole.Visited); err != nil {
		return err
	}
	back, err := v.onward("login", http.MethodPost, "/ui/login/password", url.Values{
		"request": {page.Query().Get("request")}, "name": {fmt.Sprint("person-", v.n%people)}, "current": {password},
	}.Encode())
	if err != nil {
		return err
	}
	if err := v.token("token", url.Values{"grant_type": {"authorization_code"}, "redirect_uri": {redirectURI},
		"code": {back.Query().Get("code")}, "code_verifier": {verifier}}); err != nil {
		return err
	}
	if err := v.token("refresh", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {v.again}}); err != nil {
		return err
	}
	_, err = v.send("userinfo", http.MethodGet, "/oidc/v1/userinfo", "", "Authorization", "Bearer "+v.access)
	return err
}

// work is a token by client credentials, and what the administrator's program does: an import, a read and a search.
func (v *visit) work() error {
	if _, err := v.send("client credentials", http.MethodPost, "/oauth/v2/token", url.Values{
		"grant_type": {"client_credentials"}, "scope": {"openid"}, "client_id": {v.machine},
		"client_secret": {v.secret}}.Encode()); err != nil {
		return err
	}
	id := fmt.Sprint("user-", v.n)
	api := []string{"Authorization", "Bearer " + v.Token, "Content-Type", "application/json"}
	if _, err := v.send("import", http.MethodPost, "/management/v1/users/human/_import", whole.Person(id),
		api...); err != nil {
		return err
	}
	v.mu.Lock()
	v.imported = append(v.imported, id)
	v.mu.Unlock()
	if _, err := v.send("read", http.MethodGet, "/management/v1/users/"+id, "", api...); err != nil {
		return err
	}
	_, err := v.send("search", http.MethodPost, "/management/v1/users/_search",
		fmt.Sprintf(`{"queries":[{"userNameQuery":{"userName":%q}}]}`, id), api...)
	return err
}

// token asks for tokens of the application.
func (v *visit) token(what string, form url.Values) error {
	form.Set("client_id", v.app)
	w, err := v.send(what, http.MethodPost, "/oauth/v2/token", form.Encode())
	if err != nil {
		return err
	}
	v.access, _ = w.body["access_token"].(string)
	v.again, _ = w.body["refresh_token"].(string)
	return nil
}

// onward sends a request of a browser and returns where its answer leads to.
func (v *visit) onward(what, method, uri, form string) (*url.URL, error) {
	w, err := v.send(what, method, uri, form, "Origin", v.URL, "Cookie", whole.Visited)
	if err != nil {
		return nil, err
	}
	return url.Parse(w.onward)
}

// answer is what a visit needs of the answer to a request.
type answer struct {
	body   map[string]any
	onward string
}

// send sends a request once, to a gateway that is ready, and counts it. A request of a browser must lead onward, others
// must be answered with 200.
func (v *visit) send(what, method, uri, body string, header ...string) (answer, error) {
	g := v.choose()
	if g == nil {
		v.count(what, errNoGateway)
		return answer{}, errNoGateway
	}
	defer g.underWay.Done()
	a, err := v.ask(method, g.url+uri, body, header)
	v.count(what, err)
	return a, err
}

func (v *visit) ask(method, address, body string, header []string) (answer, error) {
	tries := 0
	ctx, cancel := context.WithTimeout(httptrace.WithClientTrace(context.Background(),
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { tries++ }}), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", v.n%250))
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	w, err := v.http.RoundTrip(r)
	if err != nil {
		return answer{}, err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{onward: testkit.Onward(w.Header)}
	_ = json.Unmarshal(text, &a.body) // pages have none
	switch {
	case tries > 1:
		return a, errAgain
	case w.StatusCode != http.StatusOK && a.onward == "":
		return a, fmt.Errorf("%s %.300s", w.Status, text)
	}
	return a, nil
}
