package oauth_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
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
	const refreshed = `"grantTypes":["OIDC_GRANT_TYPE_AUTHORIZATION_CODE","OIDC_GRANT_TYPE_REFRESH_TOKEN"],`
	more := map[string]string{
		pageFramework: refreshed + `"appType":"OIDC_APP_TYPE_USER_AGENT",` +
			`"authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE",`,
		// Apache renews tokens a minute before they expire, which is at each request.
		"mod_auth_openidc.conf": `"accessTokenLifetime":"60s",` + refreshed,
	}[program]
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
	one.open(f.origin)
	one.awaits("Sign in")
	one.submit("name", "ada", "current", "correct horse")
	one.awaits("Welcome Ada Lovelace")
	if got := one.read("p"); got != "ada@example.com reader" {
		t.Errorf("the page shows %q", got)
	}
	ctx, closeTab := chromedp.NewContext(one.ctx)
	t.Cleanup(closeTab)
	two := chromium{t, ctx}
	two.open(f.origin)
	two.awaits("Welcome Ada Lovelace")
	var both sync.WaitGroup
	for _, c := range []chromium{one, two} {
		both.Go(func() {
			c.evaluate(`document.querySelector("button").click()`)
		})
	}
	both.Wait()
	one.awaits("Renewed")
	two.awaits("Renewed")
}

// awaits waits for a heading.
func (c chromium) awaits(heading string) {
	c.Helper()
	if err := chromedp.Do(c.ctx, chromedp.WaitVisible(chromedp.Search(`//h1[.="`+heading+`"]`))); err != nil {
		c.Fatalf("the page does not show %q but %q: %v", heading, c.read("body"), err)
	}
}

// evaluate runs a script.
func (c chromium) evaluate(script string) {
	c.Helper()
	if _, err := chromedp.Run(c.ctx, chromedp.Evaluate[any](script)); err != nil {
		c.Error(err)
	}
}

// grant is the body of a call that gives somebody the role.
func (f framework) grant() string { return `{"projectId":"` + f.project + `","roleKeys":["reader"]}` }

// run runs the program until the test ends.
func (f framework) run() {
	f.TB.Helper()
	folder := f.TB.TempDir()
	whole.NodeFrameworks(f.TB, folder)
	f.runNode(folder, "frameworks/"+f.program, nil, f.environment()...)
}

// environment is what the program learns.
func (f framework) environment() []string {
	return []string{
		"ISSUER=" + f.URL, "ORIGIN=" + f.origin, "PORT=" + f.port(), "CLIENT_ID=" + f.clientID,
		"CLIENT_SECRET=" + f.secret, "PROJECT_ID=" + f.project, "SESSION_SECRET=" + strings.Repeat("s3cret", 6),
	}
}

func (f framework) port() string { return f.origin[strings.LastIndexByte(f.origin, ':')+1:] }

// greets logs Ada in. begun is the heading to which the application has led.
func (f framework) greets(c chromium, begun string) {
	f.TB.Helper()
	c.leads("the application", begun, "Sign in")
	c.leads("the login", c.submit("name", "ada", "current", "correct horse"), "Welcome Ada Lovelace")
	if got := c.read("body"); !strings.Contains(got, "ada@example.com") {
		f.TB.Errorf("the application shows %q", got)
	}
	c.leads("the page for a role", c.visit(f.origin+"/staff"), "For readers")
}

// The guide shows the programs that run here.
func TestGuideShowsTheFrameworks(t *testing.T) {
	t.Parallel()
	guide := whole.File(t, "docs/connect-an-application.md")
	for files, language := range map[string]string{
		"frameworks/*.[cm]js": "js", "frameworks/" + pageFramework: "js", "debian/*.py": "python",
		"debian/*.conf": "apache", "authenticators/*.yaml": "yaml",
	} {
		programs, err := filepath.Glob("clients/" + files)
		if err != nil || len(programs) == 0 {
			t.Fatalf("%s: %v, %v", files, programs, err)
		}
		for _, program := range programs {
			text := whole.File(t, "deploy/herald/test/oauth/"+program)
			if !strings.Contains(guide, "```"+language+"\n"+text+"```\n") {
				t.Errorf("docs/connect-an-application.md does not show %s as it is", program)
			}
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
				c.open(f.origin)
				f.greets(c, c.submit())
				return
			}
			f.greets(c, c.visit(f.origin))
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
			f.checksTokens()
		})
	}
}

// checksTokens calls the API of the program with tokens that are good for it, and with others.
func (f framework) checksTokens() {
	f.TB.Helper()
	get := func(path, token string) (int, map[string]any) {
		f.TB.Helper()
		r, err := http.NewRequestWithContext(f.TB.Context(), http.MethodGet, f.origin+path, http.NoBody)
		if err != nil {
			f.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			f.Fatal(err)
		}
		defer got.Body.Close()
		var body map[string]any
		_ = json.NewDecoder(got.Body).Decode(&body)
		return got.StatusCode, body
	}
	audience := "urn:service:iam:org:project:id:" + f.project + ":aud"
	token := func(id string) string {
		f.TB.Helper()
		return f.token(f.secretOf(id), "grant_type", "client_credentials", "scope", "groups "+audience).
			text("access_token")
	}
	const signed = `,"accessTokenType":"OIDC_TOKEN_TYPE_JWT"`
	reader, guest := f.machine("reader"+f.project, signed), f.machine("guest"+f.project, signed)
	f.Must("POST", "/management/v1/users/"+reader+"/grants", f.grant())
	if status, got := get("/staff", token(reader)); status != http.StatusOK ||
		!reflect.DeepEqual(got["groups"], []any{"reader"}) {
		f.TB.Errorf("a reader gets %d %v", status, got)
	}
	if status, got := get("/", token(guest)); status != http.StatusOK || got["sub"] != guest {
		f.TB.Errorf("a guest gets %d %v", status, got)
	}
	if status, _ := get("/staff", token(guest)); status < 400 || status > 403 {
		f.TB.Errorf("a guest gets %d for readers", status)
	}
	other := f.token(f.secretOf(reader), "grant_type", "client_credentials", "scope", "groups")
	if status, _ := get("/", other.text("access_token")); status != http.StatusUnauthorized {
		f.TB.Errorf("a token for nobody gets %d", status)
	}
	if status, _ := get("/", ""); status != http.StatusUnauthorized {
		f.TB.Errorf("without a token: %d", status)
	}
}
