package journey_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

const webPage = "../../../../examples/web"

// The page's script is committed, so that the page can be opened without npm. It is equal to the one
// that is built from its sources.
func TestWebScriptIsOfItsSources(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(webPage + "/dist/main.js")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(script), "\n\n")
	var names []string
	for _, line := range strings.Split(head, "\n")[1:] {
		hash, name, _ := strings.Cut(strings.TrimPrefix(line, "// "), " ")
		names = append(names, filepath.Base(name))
		source, err := os.ReadFile(filepath.Join(webPage, name))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(source)) != hash {
			t.Errorf("%s has changed (%v): type npm ci && npm run build in examples/web", name, err)
		}
	}
	for _, name := range []string{"main.js", "build.js", "package-lock.json", "buf.gen.yaml", "projects.proto",
		"fault.proto", "list.proto"} {
		if !slices.Contains(names, name) {
			t.Errorf("the script does not name %s", name)
		}
	}
}

// visit is the example's page, open in a browser.
type visit struct {
	t   *testing.T
	ctx context.Context
	// console is the messages of the page on the console.
	console iter.Seq2[chromedp.ConsoleMessage, error]

	mu sync.Mutex
	// sent are the requests to the API: verb, media type, path.
	sent []string
}

// visitPage opens the page from an origin that is not the API's.
func visitPage(t *testing.T, api string) *visit {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(webPage)))
	t.Cleanup(server.Close)
	v := &visit{t: t, ctx: outside.OpenBrowser(t)}
	v.console = chromedp.Console(v.ctx)
	err := chromedp.Listen(v.ctx, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && strings.HasPrefix(e.Request.URL, api) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.sent = append(v.sent, fmt.Sprint(e.Request.Method, " ", e.Request.Headers["content-type"], " ",
				strings.TrimPrefix(e.Request.URL, api)))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	v.do(chromedp.Navigate(server.URL))
	v.fill("address", api)
	return v
}

func (v *visit) do(steps ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	if err := chromedp.Do(v.ctx, steps...); err != nil {
		v.t.Fatal(err)
	}
}

// fill replaces the value of a field. chromedp's SetValue cannot make it empty.
func (v *visit) fill(id, value string) {
	v.t.Helper()
	got, err := chromedp.Run(v.ctx,
		chromedp.Evaluate[string](fmt.Sprintf("document.getElementById(%q).value = %q", id, value)))
	if err != nil || got != value {
		v.t.Fatalf("%s is %q: %v", id, got, err)
	}
}

// search presses the button and returns the page's message and the listed names.
func (v *visit) search() (said string, names []string) {
	v.t.Helper()
	v.do(chromedp.Click(chromedp.CSS("button")))
	said, err := chromedp.Run(v.ctx, chromedp.Poll[string](`total.textContent || !fault.hidden && fault.textContent`))
	if err != nil {
		v.t.Fatal(err)
	}
	names, err = chromedp.Run(v.ctx,
		chromedp.Evaluate[[]string](`[...projects.tBodies[0].rows].map(row => row.cells[0].textContent)`))
	if err != nil {
		v.t.Fatal(err)
	}
	return said, names
}

// leave fails the test if the console has messages, and returns the page's requests to the API.
func (v *visit) leave() []string {
	v.t.Helper()
	const last = "leaving"
	if _, err := chromedp.Run(v.ctx, chromedp.Evaluate[any](`console.log("`+last+`")`)); err != nil {
		v.t.Fatal(err)
	}
	for m, err := range v.console {
		if err != nil {
			v.t.Fatal(err)
		}
		if m.Text == last {
			break
		}
		v.t.Errorf("on the console: %v", m)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sent
}

// A page of another origin lists projects over gRPC-Web, with the client generated from the
// contracts.
func TestWebPage(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	for _, name := range []string{"Äpfel & Birnen", "Straße nach Süden", "<b>Ωmega</b>"} {
		if status, answer := i.Call("POST", "/management/v1/projects", `{"name":`+strconv.Quote(name)+
			`}`); status != http.StatusOK {
			t.Fatalf("%s: %d %v", name, status, answer)
		}
	}
	v := visitPage(t, i.URL)
	v.do(chromedp.SendKeys(chromedp.ID("token"), i.Token))
	for _, c := range []struct {
		name, method, limit, says string
		finds                     []string
	}{
		{says: "3 of 3", finds: []string{"<b>Ωmega</b>", "Straße nach Süden", "Äpfel & Birnen"}},
		{limit: "1", says: "1 of 3", finds: []string{"<b>Ωmega</b>"}},
		{name: "äPFEL", method: "3", says: "1 of 1", finds: []string{"Äpfel & Birnen"}},
		{name: "STRASSE", method: "3", says: "1 of 1", finds: []string{"Straße nach Süden"}},
		{name: "äPFEL", method: "2", says: "0 of 0"},
		{name: "ωMEGA", method: "5", says: "1 of 1", finds: []string{"<b>Ωmega</b>"}},
		{limit: "1001", says: "LIMIT_EXCEEDED: query.limit: the maximum is 1000"},
	} {
		v.fill("name", c.name)
		v.fill("limit", c.limit)
		if c.method != "" {
			v.fill("method", c.method)
		}
		if said, names := v.search(); said != c.says || !slices.Equal(names, c.finds) {
			t.Errorf("%q by method %s, limit %q: %q %q, want %q %q", c.name, c.method, c.limit, said, names,
				c.says, c.finds)
		}
	}
	v.fill("limit", "")
	v.do(chromedp.SendKeys(chromedp.ID("token"), "x"))
	if said, names := v.search(); said != "UNAUTHENTICATED: A valid Bearer token is required" || len(names) > 0 {
		t.Errorf("with a wrong token: %q %q", said, names)
	}
	kept, err := chromedp.Run(v.ctx, chromedp.Evaluate[string](`JSON.stringify({...localStorage, ...sessionStorage}) `+
		`+ document.cookie + location.search + location.hash`))
	if err != nil || kept != "{}" {
		t.Errorf("the page keeps %q (%v)", kept, err)
	}
	sent := v.leave()
	const procedure = " /herald.projects.v1.Projects/SearchProjects"
	for _, want := range []string{"OPTIONS <nil>" + procedure, "POST application/grpc-web+proto" + procedure} {
		if !slices.Contains(sent, want) {
			t.Errorf("no %s among %q", want, sent)
		}
	}
}
