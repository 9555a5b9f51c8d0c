package oauth_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

var (
	webFrameworks = []string{"express-openid-connect.cjs", "passport.cjs", "auth.mjs"}
	apiFrameworks = []string{"express-oauth2-jwt-bearer.cjs", "jose.mjs"}
	// pageFramework runs in the browser.
	pageFramework = "oidc-client-ts.js"
)

// framework is a program that is written as the documentation of its framework says.
type framework struct {
	world
	program, origin, project, clientID, secret string
}

// frameworks makes a project with the role reader, which Ada has, and an application in it.
func (w world) frameworks(program string) framework {
	w.TB.Helper()
	f := framework{world: w, program: program, origin: nodeOrigin(w.TB)}
	f.project = w.Must("POST", "/management/v1/projects", `{"name":"`+program+`"}`)["id"].(string)
	w.Must("POST", "/management/v1/projects/"+f.project+"/roles", `{"key":"reader","displayName":"Reader"}`)
	w.Must("POST", "/management/v1/users/ada/grants", f.grant())
	more := ""
	if program == pageFramework {
		more = `"appType":"OIDC_APP_TYPE_USER_AGENT","authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE","grantTypes":` +
			`["OIDC_GRANT_TYPE_AUTHORIZATION_CODE","OIDC_GRANT_TYPE_REFRESH_TOKEN"],`
	}
	made := w.Must("POST", "/management/v1/projects/"+f.project+"/apps/oidc", strings.ReplaceAll(`{"name":"Shop",`+more+
		`"redirectUris":["HOST/callback","HOST/auth/callback/herald"],"accessTokenType":"OIDC_TOKEN_TYPE_JWT"}`,
		"HOST", f.origin))
	f.clientID = made["clientId"].(string)
	f.secret, _ = made["clientSecret"].(string)
	return f
}

// serve serves the page of oidc-client-ts until the test ends.
func (f framework) serve() {
	f.TB.Helper()
	answer := func(kind, text string) http.HandlerFunc {
		return func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(out, text)
		}
	}
	const script = "text/javascript"
	mux := http.NewServeMux()
	mux.HandleFunc("/", answer("text/html", `<!DOCTYPE html><title>Shop</title><link rel="icon" href="data:,">
<script type="importmap">{"imports":{"oidc-client-ts":"/library.js"}}</script>
<script type="module" src="/app.js"></script><h1></h1><p></p><button>Renew</button>`))
	mux.HandleFunc("/library.js", answer(script, whole.PageLibrary(f.TB)))
	program := whole.File(f.TB, "deploy/herald/test/oauth/clients/frameworks/"+f.program)
	mux.HandleFunc("/app.js", answer(script, program))
	mux.HandleFunc("/settings.json", answer("application/json", `{"issuer":"`+f.URL+`","clientId":"`+f.clientID+`"}`))
	l, err := net.Listen("tcp", strings.TrimPrefix(f.origin, "http://"))
	if err != nil {
		f.Fatal(err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	f.TB.Cleanup(func() { _ = server.Close() })
}

// A page without a server logs people in. Two tabs share a login, and both renew it at the same time.
func TestPageRenewsInTwoTabs(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ada()
	f := w.frameworks(pageFramework)
	f.serve()
	one := chromium{t, outside.OpenBrowser(t, "accept-lang=en")}
	waits := func(c chromium, heading string) {
		t.Helper()
		if err := chromedp.Do(c.ctx, chromedp.WaitVisible(chromedp.Search(`//h1[.="`+heading+`"]`))); err != nil {
			t.Fatalf("the page does not show %q but %q: %v", heading, c.read("body"), err)
		}
	}
	goTo := func(c chromium) {
		t.Helper()
		if _, err := chromedp.RunResponse(c.ctx, chromedp.Navigate(f.origin)); err != nil {
			t.Fatal(err)
		}
	}
	goTo(one)
	waits(one, "Sign in")
	one.submit("name", "ada", "current", "correct horse")
	waits(one, "Welcome Ada Lovelace")
	if got := one.read("p"); got != "ada@example.com reader" {
		t.Errorf("the page shows %q", got)
	}
	ctx, closeTab := chromedp.NewContext(one.ctx)
	t.Cleanup(closeTab)
	two := chromium{t, ctx}
	goTo(two)
	waits(two, "Welcome Ada Lovelace")
	var both sync.WaitGroup
	for _, c := range []chromium{one, two} {
		both.Go(func() {
			press := chromedp.Evaluate[any](`document.querySelector("button").click()`)
			if _, err := chromedp.Run(c.ctx, press); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	waits(one, "Renewed")
	waits(two, "Renewed")
}

// grant is the body of a call that gives somebody the role.
func (f framework) grant() string { return `{"projectId":"` + f.project + `","roleKeys":["reader"]}` }

// run runs the program until the test ends.
func (f framework) run() {
	f.TB.Helper()
	folder := f.TB.TempDir()
	whole.NodeFrameworks(f.TB, folder)
	_, port, _ := strings.Cut(strings.TrimPrefix(f.origin, "http://"), ":")
	f.runNode(folder, "frameworks/"+f.program, nil, "ISSUER="+f.URL, "ORIGIN="+f.origin, "PORT="+port,
		"CLIENT_ID="+f.clientID, "CLIENT_SECRET="+f.secret, "PROJECT_ID="+f.project,
		"SESSION_SECRET="+strings.Repeat("s3cret", 6))
}

// The guide shows the programs that run here.
func TestGuideShowsTheFrameworks(t *testing.T) {
	t.Parallel()
	guide := whole.File(t, "docs/connect-an-application.md")
	for _, program := range slices.Concat(webFrameworks, apiFrameworks, []string{pageFramework}) {
		text := whole.File(t, "deploy/herald/test/oauth/clients/frameworks/"+program)
		if !strings.Contains(guide, "```js\n"+text+"```\n") {
			t.Errorf("docs/connect-an-application.md does not show %s as it is", program)
		}
	}
}

// People log in to web applications through the real pages. The application reads name, address and roles.
func TestFrameworksLogPeopleIn(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ada()
	for _, program := range webFrameworks {
		t.Run(program, func(t *testing.T) {
			w := w.of(t)
			f, c := w.frameworks(program), open(t)
			f.run()
			if program == "auth.mjs" { // its own page has a button for each provider, and no heading
				if _, err := chromedp.RunResponse(c.ctx, chromedp.Navigate(f.origin)); err != nil {
					t.Fatal(err)
				}
				c.leads("the provider", c.submit(), "Sign in")
			} else {
				c.leads("the application", c.visit(f.origin), "Sign in")
			}
			c.leads("the login", c.submit("name", "ada", "current", "correct horse"), "Welcome Ada Lovelace")
			if got := c.read("body"); !strings.Contains(got, "ada@example.com") {
				t.Errorf("the application shows %q", got)
			}
			c.leads("the page for a role", c.visit(f.origin+"/staff"), "For readers")
		})
	}
}

// APIs check JSON Web Tokens with the keys that discovery names, and read the roles in them.
func TestFrameworksCheckTokens(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.ada()
	for _, program := range apiFrameworks {
		t.Run(program, func(t *testing.T) {
			w := w.of(t)
			f := w.frameworks(program)
			f.run()
			get := func(path, token string) (int, map[string]any) {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.origin+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				}
				got, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer got.Body.Close()
				var body map[string]any
				_ = json.NewDecoder(got.Body).Decode(&body)
				return got.StatusCode, body
			}
			audience := "urn:service:iam:org:project:id:" + f.project + ":aud"
			token := func(id string) string {
				t.Helper()
				return w.token(w.secretOf(id), "grant_type", "client_credentials", "scope", "groups "+audience).
					text("access_token")
			}
			const signed = `,"accessTokenType":"OIDC_TOKEN_TYPE_JWT"`
			reader, guest := w.machine("reader"+f.project, signed), w.machine("guest"+f.project, signed)
			w.Must("POST", "/management/v1/users/"+reader+"/grants", f.grant())
			if status, got := get("/staff", token(reader)); status != http.StatusOK ||
				!reflect.DeepEqual(got["groups"], []any{"reader"}) {
				t.Errorf("a reader gets %d %v", status, got)
			}
			if status, got := get("/", token(guest)); status != http.StatusOK || got["sub"] != guest {
				t.Errorf("a guest gets %d %v", status, got)
			}
			if status, _ := get("/staff", token(guest)); status < 400 || status > 403 {
				t.Errorf("a guest gets %d for readers", status)
			}
			other := w.token(w.secretOf(reader), "grant_type", "client_credentials", "scope", "groups")
			if status, _ := get("/", other.text("access_token")); status != http.StatusUnauthorized {
				t.Errorf("a token for nobody gets %d", status)
			}
			if status, _ := get("/", ""); status != http.StatusUnauthorized {
				t.Errorf("without a token: %d", status)
			}
		})
	}
}
