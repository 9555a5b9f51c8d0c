package transports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/nats-io/nats.go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// description is openapi.json as an instance serves it.
type description struct {
	*whole.Instance
	document map[string]any
	schemas  *jsonschema.Compiler
}

// describe reads a description and makes its schemas strict: an answer may have no other members.
func describe(i *whole.Instance, path string) *description {
	i.T.Helper()
	r, err := http.Get(i.URL + path)
	if err != nil {
		i.T.Fatal(err)
	}
	defer r.Body.Close()
	document, err := jsonschema.UnmarshalJSON(r.Body)
	if err != nil {
		i.T.Fatal(err)
	}
	d := &description{i, document.(map[string]any), jsonschema.NewCompiler()}
	d.schemas.AssertFormat()
	for name, s := range at(d.document, "components", "schemas").(map[string]any) {
		if s := s.(map[string]any); name != "CloudEvent" && (s["type"] == "object" || s["allOf"] != nil) {
			s["unevaluatedProperties"] = false
		}
	}
	if err := d.schemas.AddResource("description.json", document); err != nil {
		i.T.Fatal(err)
	}
	return d
}

// at returns the value under these names, or nil.
func at(v any, names ...string) any {
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// fits checks a value against the schema of the description that $ref names.
func (d *description) fits(what string, ref, value any) {
	d.T.Helper()
	to, ok := ref.(string)
	if !ok {
		d.T.Fatalf("%s is not described", what)
	}
	s, err := d.schemas.Compile("description.json" + to)
	if err != nil {
		d.T.Fatalf("%s: %v", what, err)
	}
	if err := s.Validate(value); err != nil {
		d.T.Errorf("%s: %v", what, err)
	}
}

// try calls an operation by its template, with ids in place of {…}. It checks the answer against the
// description and, if the request is accepted, its body too.
func (d *description) try(status int, verb, template, body string, ids ...string) map[string]any {
	d.T.Helper()
	path := regexp.MustCompile(`\{[^}]+\}`).ReplaceAllStringFunc(template, func(string) string {
		first := ids[0]
		ids = ids[1:]
		return first
	})
	path, _, _ = strings.Cut(path, "?")
	template, query, asked := strings.Cut(template, "?")
	if asked {
		path += "?" + query
	}
	what := verb + " " + path
	operation := at(d.document, "paths", template, strings.ToLower(verb))
	got, answer := d.Call(verb, path, body)
	if got != status {
		d.T.Fatalf("%s: %d %v", what, got, answer)
	}
	if body != "" && status == http.StatusOK {
		sent, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			d.T.Fatal(err)
		}
		d.fits(what+": the body", at(operation, "requestBody", "content", "application/json", "schema", "$ref"), sent)
	}
	response := at(operation, "responses", strconv.Itoa(status))
	if named, ok := at(response, "$ref").(string); ok {
		response = at(d.document, "components", "responses", named[strings.LastIndex(named, "/")+1:])
	}
	d.fits(what+": the answer", at(response, "content", "application/json", "schema", "$ref"), any(answer))
	return answer
}

// Requests and answers of an instance are as its description says.
func TestAnswersFitTheirDescription(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	d := describe(i, "/openapi.json")
	example := whole.File(t, "examples/user.json")
	const users, texts = "/management/v1/users", "/management/v1/text/message/{kind}/{language}"
	d.try(200, "GET", "/admin/v1/languages", "")
	d.try(200, "GET", "/admin/v1/languages/default", "")
	d.try(200, "GET", texts, "", "init", "de")
	d.try(200, "PUT", texts, `{"title":"Hallo","text":"{{.FirstName}}"}`, "init", "de")
	d.try(200, "POST", texts+"/_preview", `{"title":"Hallo"}`, "init", "de")
	d.try(200, "POST", users+"/human/_import", example)
	d.try(409, "POST", users+"/human/_import", strings.Replace(example, "Mini", "Maxi", 1))
	d.try(400, "POST", users+"/human/_import", `{"userName":" "}`)
	d.try(400, "POST", users+"/_search", `{"query":{"limit":"1001"}}`)
	d.try(404, "GET", users+"/{userId}", "", "nobody")
	d.try(200, "GET", users+"/{userId}", "", "mini-mouse")
	d.try(200, "GET", "/auth/v1/users/me", "")
	d.try(200, "GET", users+"/_is_unique?userName=mini", "")
	i.Mail("mini@example.com")
	d.try(200, "GET", users+"/{userId}/notifications?query.limit=5", "", "mini-mouse")
	d.try(200, "POST", users+"/_search", `{"query":{"offset":"0","limit":5,"asc":true},`+
		`"queries":[{"userNameQuery":{"userName":"mi","method":"TEXT_QUERY_METHOD_STARTS_WITH"}},`+
		`{"stateQuery":{"state":"USER_STATE_INITIAL"}}]}`)
	d.try(200, "POST", users+"/{userId}/_resend_initialization", `{}`, "mini-mouse")
	d.try(200, "POST", users+"/human", `{"userName":"ada","profile":{"firstName":"Ada","lastName":"L"},`+
		`"email":{"email":"ada@example.com","isEmailVerified":true},"phone":{"phone":"+41791234567"}}`)
	ci := d.try(200, "POST", users+"/machine", `{"userName":"ci","name":"CI"}`)["userId"].(string)
	d.try(200, "GET", users+"/{userId}", "", ci)
	d.try(200, "PUT", users+"/{userId}/machine", `{"userName":"ci","name":"Builds","description":"x"}`, ci)
	token := d.try(200, "POST", users+"/{userId}/pats", `{"expirationDate":"2100-01-01T00:00:00Z"}`, ci)
	d.try(200, "POST", users+"/{userId}/pats/_search", "", ci)
	d.try(200, "DELETE", users+"/{userId}/pats/{tokenId}", "", ci, token["tokenId"].(string))
	key := d.try(200, "POST", users+"/{userId}/keys", `{"type":"KEY_TYPE_JSON"}`, ci)["keyId"].(string)
	d.try(200, "POST", users+"/{userId}/keys/_search", "", ci)
	d.try(200, "GET", users+"/{userId}/keys/{keyId}", "", ci, key)
	d.try(200, "DELETE", users+"/{userId}/keys/{keyId}", "", ci, key)
	d.try(200, "PUT", users+"/{userId}/secret", `{}`, ci)
	d.try(200, "DELETE", users+"/{userId}/secret", "", ci)
	d.try(200, "POST", "/management/v1/orgs", `{"name":"Acme"}`)
	d.try(200, "GET", "/management/v1/orgs/me", "")
	d.try(200, "POST", "/admin/v1/orgs/_search", `{"queries":[{"nameQuery":{"name":"Acme"}}]}`)
	d.try(200, "POST", "/management/v1/orgs/me/members", `{"userId":"mini-mouse","roles":["ORG_OWNER_VIEWER"]}`)
	d.try(200, "POST", "/management/v1/orgs/me/members/_search", "")
	d.try(200, "POST", "/management/v1/orgs/members/roles/_search", "")
	d.try(200, "POST", "/auth/v1/memberships/me/_search", "")
	i.Token = ""
	d.try(401, "GET", "/auth/v1/users/me", "")
	for path, verbs := range at(d.document, "paths").(map[string]any) {
		for verb, operation := range verbs.(map[string]any) {
			public := len(at(operation, "security").([]any)) == 0
			if at(operation, "tags").([]any)[0] == "OAuth" {
				continue // TestDescribedEndpointsAnswer
			}
			status, answer := i.Call(strings.ToUpper(verb), regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(path, "x"),
				"")
			if !public && status != http.StatusUnauthorized || public && status != http.StatusOK {
				t.Errorf("%s %s without a token: %d %v", verb, path, status, answer)
			}
		}
	}
}

// Every described endpoint of OAuth 2.0 and OpenID Connect is there and takes the described verb.
func TestDescribedEndpointsAnswer(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	i.Token = ""
	d, tried := describe(i, "/openapi.json"), 0
	for path, verbs := range at(d.document, "paths").(map[string]any) {
		for verb, operation := range verbs.(map[string]any) {
			if at(operation, "tags").([]any)[0] != "OAuth" {
				continue
			}
			tried++
			r, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(verb), i.URL+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			got, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = got.Body.Close()
			if at(operation, "responses", strconv.Itoa(got.StatusCode)) == nil {
				t.Errorf("%s %s: %d is not described", verb, path, got.StatusCode)
			}
		}
	}
	if tried < 13 {
		t.Errorf("only %d endpoints are described", tried)
	}
}

// The events of an instance are as their description says.
func TestEventsFitTheirDescription(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	d := describe(i, "/asyncapi.json")
	url, err := os.ReadFile(i.Dir + "/data/subscriber.url")
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(strings.TrimSpace(string(url)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("events.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	i.Call("PUT", "/management/v1/text/message/init/de", `{"title":"Hallo"}`)
	i.Import("u1")
	i.Call("POST", "/management/v1/orgs/me/members", `{"userId":"u1","roles":["ORG_OWNER_VIEWER"]}`)
	i.ChoosePassword("u1@example.com")
	i.Call("POST", "/management/v1/users/u1/pats", "{}")
	waiting := map[string]bool{"users.human.imported": true, "users.member.added": true, "users.pat.added": true,
		"users.human.initialized": true, "text.message.changed": true}
	for len(waiting) > 0 {
		m, err := sub.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatalf("%v; waiting for %v", err, waiting)
		}
		parts := strings.Split(m.Subject, ".")
		channel := strings.Join(parts[1:4], ".")
		if at(d.document, "channels", channel, "address") != strings.Join(parts[:4], ".")+".{orgId}" {
			t.Errorf("no channel has the subject %s", m.Subject)
		}
		headers := map[string]any{}
		for name := range m.Header {
			headers[name] = m.Header.Get(name)
		}
		d.fits(m.Subject+": the headers", "#/components/messages/"+channel+"/headers", headers)
		payload, err := jsonschema.UnmarshalJSON(bytes.NewReader(m.Data))
		if err != nil {
			t.Fatal(err)
		}
		d.fits(m.Subject+": the payload", at(d.document, "components", "messages", channel, "payload", "$ref"), payload)
		delete(waiting, channel)
	}
}

// complaints collects the warnings, errors and exceptions of a page.
func complaints(page context.Context) <-chan string {
	said := make(chan string, 100)
	console := chromedp.Console(page)
	go func() {
		defer close(said)
		for m, err := range console {
			if err != nil {
				return
			}
			if m.Type == "warning" || m.Type == "error" || m.IsException() {
				said <- m.String()
			}
		}
	}()
	return said
}

// The pages work in a browser with their strict policy and load nothing from other hosts.
func TestReferenceInABrowser(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	page := outside.OpenBrowser(t)
	var mu sync.Mutex
	var asked []string
	if _, err := chromedp.Call(page, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(page, func(event any) {
		if r, ok := event.(*network.EventRequestWillBeSent); ok {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Request.URL)
		}
	}); err != nil {
		t.Fatal(err)
	}
	said := complaints(page)
	shows := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			quoted, _ := json.Marshal(text)
			if _, err := chromedp.Run(page, chromedp.Poll[bool](`document.body.innerText.includes(`+string(quoted)+
				`)`)); err != nil {
				t.Fatalf("the page does not show %q: %v", text, err)
			}
		}
	}
	open := func(path string, texts ...string) {
		t.Helper()
		if err := chromedp.Do(page, chromedp.Navigate(i.URL+path)); err != nil {
			t.Fatal(err)
		}
		shows(texts...)
	}
	open("/docs", "Reference", "openapi.json")
	open("/docs/errors", "USER_NOT_FOUND")
	open("/docs/settings", "HERALD_PUBLIC_URL")
	open("/docs/protos", "herald/users/v1/users.proto")
	open("/docs/events", "users.human.imported")
	open("/docs/api#/imports", "Imports a human user, optionally with a password hash", "Needs the permission",
		"Ctrl+K")
	search := chromedp.Steps(
		chromedp.Click(chromedp.CSS("[data-testid=search-trigger]")),
		chromedp.SendKeys(chromedp.CSS("input"), "initialize"),
	)
	if err := chromedp.Do(page, search); err != nil {
		t.Fatal(err)
	}
	shows("/management/v1/users/{userId}/_resend_initialization")
	open("/docs", "Reference")
	mu.Lock()
	for _, url := range asked {
		if !strings.HasPrefix(url, i.URL+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the browser asked %s", url)
		}
	}
	if len(asked) < 10 {
		t.Errorf("only %d requests were seen", len(asked))
	}
	mu.Unlock()
	for {
		select {
		case text := <-said:
			t.Errorf("the console says %s", text)
		default:
			return
		}
	}
}
