package faults_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"herald/deploy/herald/test/whole"
)

// client sends requests with a token, over a connection for each simultaneous one. It uses fasthttp, because it shares
// the processors with Herald.
type client struct {
	http       *fasthttp.Client
	url, token string
	// org is the organization acted on, or empty for the token's own.
	org string
	// from is the address of the client, or empty for that of this machine.
	from string
}

func newClient(url, token string) client {
	const limit = time.Minute
	return client{
		http: &fasthttp.Client{MaxConnsPerHost: 1000, ReadTimeout: limit, WriteTimeout: limit}, url: url, token: token,
	}
}

// send sends JSON. It returns the body of the answer, and an error unless the status is 200, or 303 after a form.
func (c client) send(method, path, body string) (string, error) {
	return c.sendAs("application/json", method, path, body)
}

func (c client) sendAs(mediaType, method, path, body string) (string, error) {
	request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(answer)
	request.Header.SetMethod(method)
	request.SetRequestURI(c.url + path)
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Origin", c.url)
	request.Header.Set("Cookie", whole.Visited)
	if c.org != "" {
		request.Header.Set("X-Service-Orgid", c.org)
	}
	if c.from != "" {
		request.Header.Set("X-Forwarded-For", c.from)
	}
	request.Header.SetContentType(mediaType)
	request.SetBodyString(body)
	if err := c.http.Do(request, answer); err != nil {
		return "", err
	}
	if status := answer.StatusCode(); status != http.StatusOK && status != http.StatusSeeOther {
		return "", fmt.Errorf("%d %s", answer.StatusCode(), answer.Body())
	}
	return string(answer.Body()), nil
}

// attack is the flood of an organization by its owner.
type attack struct {
	client
	t     testing.TB
	mine  string // the organization
	kinds []*kind
	count atomic.Int64
}

// kind is one kind of requests. Each of its clients sends the next request as soon as the last one is answered.
type kind struct {
	name    string
	clients int
	// send sends the n-th request.
	send func(n int64) (string, error)
	// pause is how long a client waits before the next request.
	pause time.Duration
	// refused is the expected answer of requests that cannot succeed, such as 400.
	refused  string
	answered atomic.Int64
}

func newAttack(t testing.TB, admin *whole.Instance) *attack {
	t.Helper()
	in := *admin
	in.Org = in.Must("POST", "/management/v1/orgs", `{"name":"Flood"}`)["id"].(string)
	in.Must("POST", "/management/v1/users/human/_import", whole.Active("flood-owner"))
	in.Must("POST", "/management/v1/users/human/_import", whole.Active("flood-user"))
	in.Must("POST", "/management/v1/orgs/me/members", `{"userId":"flood-owner","roles":["ORG_OWNER"]}`)
	token := in.Must("POST", "/management/v1/users/flood-owner/pats", `{}`)["token"].(string)
	rounds := 500_000 // so that one is done within a short flood
	if *flood > 0 {
		rounds = 2_000_000
	}
	slowest := fmt.Sprintf("$pbkdf2-sha512$%d$AAAA$%s", rounds, strings.Repeat("A", 43))
	for n := range slowUsers {
		person := whole.Active(fmt.Sprint("flood-slow-", n))
		in.Must("POST", "/management/v1/users/human/_import", strings.Replace(person, whole.Hash, slowest, 1))
	}
	a := &attack{client: newClient(in.URL, token), t: t, mine: in.Org}
	a.kinds = []*kind{
		{name: "texts", clients: 4, send: a.text}, {name: "metadata", clients: 8, send: a.metadata},
		{name: "bulk roles", clients: 4, send: a.roles}, {name: "lists", clients: 4, send: a.list, refused: "400"},
		{name: "passwords", clients: 90, send: a.password}, {name: "searches", clients: 8, send: a.search},
		{name: "bulk imports", clients: 2, send: a.bulk}, {name: "mails", clients: 8, send: a.mail},
		{name: "slow logins", clients: 20, send: a.login, refused: "400"},
		// Sixty a minute are let through. All further ones are only a flood of requests, which anybody can send.
		{name: "anonymous mails", clients: 1, send: a.resend, refused: "429", pause: 50 * time.Millisecond},
	}
	return a
}

// slowUsers is how many users have the slowest hash. Of each ten wrong passwords are compared.
const slowUsers = 50

const usersPath = "/management/v1/users/"

func (a *attack) text(n int64) (string, error) {
	return a.send("PUT", "/management/v1/text/message/init/de", fmt.Sprintf(`{"text":"%040000d"}`, n))
}

func (a *attack) metadata(n int64) (string, error) { // 64 KiB
	return a.send("POST", fmt.Sprint(usersPath, "flood-user/metadata/", n%100), fmt.Sprintf(`{"value":"%087380d"}`, n))
}

// bodyOf returns n elements, made by one, with commas between them.
func bodyOf(n int, one func(n int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = one(i)
	}
	return strings.Join(all, ",")
}

func (a *attack) roles(n int64) (string, error) {
	made, err := a.send("POST", "/management/v1/projects", fmt.Sprintf(`{"name":"flood %d"}`, n))
	if err != nil {
		return "", err
	}
	_, id, _ := strings.Cut(made, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return a.send("POST", "/management/v1/projects/"+id+"/roles/_bulk", `{"roles":[`+bodyOf(200, func(n int) string {
		return fmt.Sprintf(`{"key":"%0200d","displayName":"%0200d"}`, n, n)
	})+`]}`)
}

func (a *attack) list(int64) (string, error) {
	return a.send("POST", "/management/v1/projects/_search", `{"queries":[`+strings.Repeat("{},", 49_999)+`{}]}`)
}

func (a *attack) password(int64) (string, error) {
	return a.send("POST", usersPath+"flood-user/password", `{"password":"correct horse battery"}`)
}

func (a *attack) search(int64) (string, error) {
	return a.send("POST", usersPath+"_search", `{"queries":[`+bodyOf(20, func(n int) string {
		return fmt.Sprintf(`{"displayNameQuery":{"displayName":%q,"method":"TEXT_QUERY_METHOD_CONTAINS_IGNORE_CASE"}}`,
			"Mini Mouse"[n%5:n%5+4])
	})+`]}`)
}

// bulk imports a thousand people, of whom every second one is refused.
func (a *attack) bulk(n int64) (string, error) {
	return a.send("POST", "/admin/v1/import", fmt.Sprintf(`{"dataOrgs":{"orgs":[{"orgId":%q,"humanUsers":[%s]}]}}`,
		a.mine, bodyOf(1000, func(row int) string {
			id := fmt.Sprintf("flood-%d-%d", n, row)
			person := whole.Active(id)
			if row%2 == 0 {
				person = strings.Replace(person, "@example.com", "", 1)
			}
			return fmt.Sprintf(`{"userId":%q,"user":%s}`, id, person)
		})))
}

func (a *attack) mail(n int64) (string, error) {
	return a.send("POST", usersPath+"human/_import", whole.Person(fmt.Sprint("flood-new-", n)))
}

// login guesses at the password of a user with a slow hash, from one of 100 addresses.
func (a *attack) login(n int64) (string, error) {
	c := a.client
	c.from = fmt.Sprint("192.0.2.", n%100)
	return c.logIn(fmt.Sprint("flood-slow-", n%slowUsers), "wrong")
}

// logIn posts the form of the login page.
func (c client) logIn(name, password string) (string, error) {
	return c.sendAs("application/x-www-form-urlencoded", "POST", "/ui/login/password",
		url.Values{"name": {name}, "current": {password}}.Encode())
}

func (a *attack) resend(n int64) (string, error) {
	return a.sendAs("application/x-www-form-urlencoded", "POST", "/ui/login/password/reset/resend",
		fmt.Sprint("userID=flood-user&orgID=", n))
}

// unread is how many connections ask for a document and read nothing.
const unread = 600

// begin floods until stop is called, which waits for the last answers.
func (a *attack) begin() (stop func()) {
	a.t.Helper()
	var clients sync.WaitGroup
	var over atomic.Bool
	for _, k := range a.kinds {
		for range k.clients {
			clients.Go(func() {
				for !over.Load() {
					a.one(k)
					<-time.After(k.pause)
				}
			})
		}
	}
	var silent []net.Conn
	for range unread {
		c, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
		if err != nil {
			a.t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET /docs/viewer/redoc.js HTTP/1.1\r\nHost: x\r\n\r\n")
		silent = append(silent, c)
	}
	return sync.OnceFunc(func() {
		over.Store(true)
		clients.Wait()
		for _, c := range silent {
			_ = c.Close()
		}
	})
}

// one sends a request. It may be refused, because there is no room for all, or take too long behind the others.
func (a *attack) one(k *kind) {
	_, err := k.send(a.count.Add(1))
	switch {
	case err == nil, k.refused != "" && strings.HasPrefix(err.Error(), k.refused):
		k.answered.Add(1)
	case !strings.HasPrefix(err.Error(), "429") && !strings.HasPrefix(err.Error(), "504"):
		a.t.Errorf("%s: %.300s", k.name, err)
	}
}

// String says how many requests of each kind were answered.
func (a *attack) String() string {
	var all []string
	for _, k := range a.kinds {
		all = append(all, fmt.Sprint(k.answered.Load(), " ", k.name))
	}
	return strings.Join(all, ", ")
}
