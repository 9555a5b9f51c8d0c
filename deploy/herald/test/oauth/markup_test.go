package oauth_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"herald/shared/mail"
	"herald/shared/testkit/outside"
)

// watcher is a browser that runs scripts and reports what payloads have done.
type watcher struct {
	chromium
	// told receives a message when a script of a payload runs, and when the policy of a page has stopped one.
	told chan string
}

// tell comes before everything else on each page, and in each frame. A payload that the policy of a page had to stop
// was not escaped either.
const tell = `window.hit = () => report("a script ran");
	document.addEventListener("securitypolicyviolation", e => report("the policy stopped " + e.effectiveDirective +
		" " + e.blockedURI + " " + e.sample));`

func watch(t testing.TB) watcher {
	t.Helper()
	w := watcher{chromium{t, outside.OpenBrowser(t, "accept-lang=en")}, make(chan string, 1000)}
	err := chromedp.Listen(w.ctx, func(event any) {
		if called, ok := event.(*runtime.EventBindingCalled); ok {
			select {
			case w.told <- called.Payload:
			default: // enough of them
			}
		}
	})
	if err == nil {
		_, err = chromedp.Call(w.ctx, runtime.AddBinding, runtime.AddBindingParams{Name: "report"})
	}
	if err == nil {
		_, err = chromedp.Call(w.ctx, cdppage.AddScriptToEvaluateOnNewDocument,
			cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: tell})
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// foreign returns the elements and attributes on a page that can do something and that no page of Herald has, when all
// that the page has begun to load is there. Known are the icon, the QR code and the logo.
const foreign = `new Promise(done => setTimeout(() => setTimeout(() => {
	const odd = [...document.querySelectorAll("script:not([src='/mail.js']), iframe:not([src^='/mail/']), object, " +
		"embed, svg, math, video, audio, marquee, noscript, textarea, body base, body meta, body link, body style, " +
		"img:not(.logo):not(.qr)")];
	for (const e of document.querySelectorAll("*")) for (const a of e.attributes)
		if (/^on|^style$|^srcdoc$|:href$/i.test(a.name) || /^\s*(javascript|vbscript|data):/i.test(a.value) &&
			["href", "src", "action", "formaction"].includes(a.name) && !e.matches("[rel=icon], .qr")) odd.push(e);
	done(odd.slice(0, 3).map(e => e.outerHTML.slice(0, 200)).join("\n"));
})))`

// foreignInMail is foreign for a mail, whose elements have styles of their own.
var foreignInMail = strings.Replace(foreign, "|^style$", "", 1)

// done returns what payloads on the page have done, or could do by what foreign or foreignInMail finds.
func (w watcher) done(foreign string) (all []string) {
	w.Helper()
	odd, err := chromedp.Run(w.ctx, chromedp.Evaluate[string](foreign, chromedp.EvalAwaitPromise))
	if err != nil {
		w.Fatal(err)
	}
	if odd != "" {
		all = append(all, "the page has "+odd)
	}
	for {
		select {
		case told := <-w.told:
			all = append(all, told)
		default:
			return all
		}
	}
}

// harmless fails the test if payloads on the page do something.
func (w watcher) harmless(page string) {
	w.Helper()
	for _, what := range w.done(foreign) {
		w.Errorf("%s: %s", page, what)
	}
}

// opens opens a page on which payloads do nothing.
func (w watcher) opens(page, address string) {
	w.Helper()
	if _, err := chromedp.RunResponse(w.ctx, chromedp.Navigate(address)); err != nil {
		w.Fatalf("%s: %v", page, err)
	}
	w.harmless(page)
}

// opensWith is opens for a page that must show a payload.
func (w watcher) opensWith(page, address string) {
	w.Helper()
	w.visit(address)
	w.has(page)
}

// has fails the test unless the page has a payload, which does nothing.
func (w watcher) has(page string) {
	w.Helper()
	w.there(page)
	w.harmless(page)
}

// there fails the test unless the page has a payload.
func (w watcher) there(page string) {
	w.Helper()
	there, err := chromedp.Run(w.ctx, chromedp.Evaluate[bool](
		`/hit\(\)|evil\.\u202f?example/.test(document.documentElement.outerHTML)`))
	if err != nil || !there {
		w.Errorf("%s has no payload: %s %v", page, w.read("body"), err)
	}
}

// unescaped is a page that writes payloads as they are, with a policy.
func unescaped(t testing.TB, policy string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		out.Header().Set("Content-Security-Policy", policy)
		fmt.Fprintf(out, `<!DOCTYPE html><h1>Unescaped</h1><input value="%s"><p>%[1]s</p>`, r.FormValue("text"))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/?text="
}

// Pages and mails show the markup that a tenant, a stranger or a directory writes into a text as plain text.
func TestMarkupIsText(t *testing.T) {
	t.Parallel()
	if n := len(payloads) + len(braces) + len(turned); n < 60 {
		t.Fatalf("there are %d payloads", n)
	}
	c := newCompany(t, `,"emailVerified":true,"providerOptions":{"isCreationAllowed":true}`,
		"HERALD_TRUSTED_PROXIES=127.0.0.1,::1")
	t.Run("a page without escaping is found", func(t *testing.T) {
		w := watch(t)
		for policy, told := range map[string]string{"": "a script ran", "default-src 'none'": "the policy stopped"} {
			address := unescaped(t, policy)
			for _, payload := range []string{`<script>hit()</script>`, `<img src=x onerror=hit()>`,
				`" autofocus onfocus="hit()" x="`, `<svg onload=hit()>`} {
				w.visit(address + url.QueryEscape(payload))
				if done := strings.Join(w.done(foreign), "\n"); !strings.Contains(done, told) ||
					!strings.Contains(done, "the page has") {
					t.Errorf("policy %q, %s: told is only %q", policy, payload, done)
				}
			}
		}
	})
	for i, name := range names() {
		t.Run(fmt.Sprintf("name %d", i), func(t *testing.T) {
			t.Parallel()
			markup{c.of(t), watch(t), fmt.Sprint(i), name}.everywhere()
		})
	}
	t.Run("texts of mails", func(t *testing.T) {
		t.Parallel()
		markup{world: c.of(t), watcher: watch(t)}.inTexts()
	})
	t.Run("lists", func(t *testing.T) {
		t.Parallel()
		markup{world: c.of(t), watcher: watch(t)}.inLists(c.idp)
	})
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		c.inClaims(t)
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		c.of(t).refusesMarkup()
	})
}

// of returns the world for a part of a test.
func (w world) of(t testing.TB) world {
	own := *w.Instance
	own.T = t
	return world{&own, t}
}

// markup is a name with payloads.
type markup struct {
	world
	watcher
	id, name string
}

// everywhere looks at all pages and mails with names of organizations, applications and people, and with what an
// address has.
func (m markup) everywhere() {
	name := inJSON(m.name)
	home, person := m.world, "person"+m.id
	home.Must("POST", "/management/v1/users/human/_import", fmt.Sprintf(`{"userId":%q,"userName":"%s",
		"profile":{"firstName":"%[2]s","lastName":"%[2]s","nickName":"%[2]s","displayName":"%[2]s"},
		"email":{"email":"%[1]s@example.com","isEmailVerified":true},"password":"correct horse"}`, person, name))
	as := *m.Instance
	as.Org = m.Must("POST", "/management/v1/orgs", `{"name":"`+name+`"}`)["id"].(string)
	theirs := world{&as, m.world.TB}
	app := theirs.application(name)
	m.inAddresses(app)
	m.opensWith("the login", app.request("login_hint", m.name, "state", m.name))
	m.submit("name", person+"@example.com", "current", "correct horse")
	m.has("the question of an application")
	m.opensWith("the question about a logout", app.end("client_id", app.clientID, "state", m.name))
	m.watcher.visit(theirs.asks(theirs.device(name + "!")).text("verification_uri_complete"))
	m.submit()
	m.has("the question about a device")
	for _, path := range []string{"/ui/account", "/ui/account/profile", "/ui/login/"} {
		m.opensWith(path, m.URL+path)
	}
	theirs.mailed(m, "initial"+m.id, fmt.Sprintf(`{"userId":"initial%s","userName":"%s+",
		"profile":{"firstName":"%[2]s","lastName":"%[2]s"},"email":{"email":"initial%[1]s@example.com"}}`, m.id, name))
	m.opensWith("the page of a mail", theirs.link("initial"+m.id+"@example.com"))
}

// mailed imports somebody, and looks at the mail: as it is, where no policy stops anything, and in the inbox.
func (w world) mailed(m markup, user, body string) {
	w.Helper()
	w.Must("POST", "/management/v1/users/human/_import", body)
	mail := w.Mail(user + "@example.com")
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(out, mail.HTML)
	}))
	defer server.Close()
	m.loads("the mail", server.URL)
	for _, path := range []string{"", "/mail/" + mail.ID} {
		m.loads("the inbox "+path, m.Mails+path)
	}
}

// loads opens a mail that has a payload, or a page about it.
func (m markup) loads(page, address string) {
	m.watcher.Helper()
	if _, err := chromedp.RunResponse(m.ctx, chromedp.Navigate(address)); err != nil {
		m.watcher.Fatal(err)
	}
	m.there(page)
	for _, what := range m.done(foreignInMail) {
		m.watcher.Errorf("%s: %s", page, what)
	}
}

// inAddresses looks at the pages that read the address by which they are opened.
func (m markup) inAddresses(app *application) {
	for path, keys := range map[string]string{
		"/oauth/v2/authorize":            "client_id redirect_uri state scope",
		"/oidc/v1/end_session":           "client_id id_token_hint post_logout_redirect_uri state ui_locales",
		"/ui/login/":                     "request lang",
		"/ui/login/forgot":               "lang other",
		"/ui/login/user/init":            "userID code orgID lang",
		"/ui/login/device":               "user_code lang",
		"/ui/login/externalidp/callback": "state code error error_description",
		"/ui/nothing":                    "lang nothing",
		"/ui/" + url.PathEscape(m.name):  "lang",
	} {
		query := url.Values{}
		for key := range strings.FieldsSeq(keys) {
			query.Set(key, m.name)
		}
		m.opens(path, m.URL+path+"?"+query.Encode())
	}
	for _, key := range []string{"redirect_uri", "response_type", "scope", "prompt", "code_challenge_method"} {
		m.opens(key, app.request(key, m.name))
	}
}

// inTexts looks at a mail of which each text has payloads. Those with an address are refused in texts of a mail with a
// code; names bring them into mails.
func (m markup) inTexts() {
	payloads := slices.DeleteFunc(slices.Clone(payloads), func(p string) bool { return mail.Link(p) != "" })
	all := strings.Join(payloads, "\n")
	texts := map[string]string{"text": all, "footerText": all}
	for _, key := range []string{"title", "subject", "preHeader", "greeting", "buttonText"} {
		texts[key] = strings.Join(payloads[:20], " ")
	}
	body, err := json.Marshal(texts)
	if err != nil {
		m.world.Fatal(err)
	}
	as := *m.Instance
	as.Org = m.Must("POST", "/management/v1/orgs", `{"name":"Texts"}`)["id"].(string)
	theirs := world{&as, m.world.TB}
	theirs.Must("PUT", "/management/v1/text/message/init/en", string(body))
	theirs.mailed(m, "texts", `{"userId":"texts","userName":"texts","profile":{"firstName":"Ada","lastName":"B",
		"preferredLanguage":"en"},"email":{"email":"texts@example.com"}}`)
	for _, text := range braces {
		if status, answer := theirs.Call("PUT", "/management/v1/text/message/init/en",
			`{"text":"`+inJSON(text)+`"}`); status != http.StatusBadRequest {
			m.world.Errorf("a mail's text %s: %d %v", text, status, answer)
		}
	}
}

// inLists looks at linked accounts, browsers and identity providers that are called like payloads.
func (m markup) inLists(idp string) {
	var links []string
	for _, name := range names() {
		links = append(links, fmt.Sprintf(`{"configId":%q,"externalUserId":"%s","tenantId":%q,"displayName":"%[2]s"}`,
			idp, inJSON(name), outside.Company))
	}
	m.Must("POST", "/management/v1/users/human/_import", person("lists", `,"idps":[`+strings.Join(links, ",")+`]`))
	as := *m.Instance
	as.Org = m.Must("POST", "/management/v1/orgs", `{"name":"Lists"}`)["id"].(string)
	theirs := world{&as, m.world.TB}
	for _, name := range names() {
		theirs.provider(`{"name":"` + inJSON(name) + `","clientId":"` +
			outside.ClientID + `","clientSecret":"` + outside.ClientSecret + `"}`)
	}
	m.opensWith("the login", theirs.application("Lists").request())
	shop := m.application("Lists")
	for _, name := range names() {
		v := m.visitor()
		v.agent = name
		v.named(v.enter(v.visit(shop.request()), "lists"), "Welcome")
		<-shop.answers
	}
	m.watcher.visit(shop.request())
	m.submit("name", "lists", "current", "correct horse")
	m.opensWith("linked accounts", m.URL+"/ui/account/idplinks")
	m.opensWith("browsers", m.URL+"/ui/account/sessions")
}

// inClaims looks at the page for somebody new whom a directory calls like payloads.
func (c company) inClaims(t *testing.T) {
	shop, w := c.application("Claims"), watch(t)
	for _, name := range names() {
		c.at.LogIn(outside.Claims{"name": name, "given_name": name, "family_name": name, "preferred_username": name})
		w.visit(shop.request())
		w.clickTo(offer, arrived+", main > form input[name=confirmed] ~ button")
		w.has("the page for somebody new")
	}
}

// refusesMarkup sends payloads where there is no page to look at, because nothing accepts them.
func (w world) refusesMarkup() {
	project := w.Must("POST", "/management/v1/projects", `{"name":"Refused"}`)["id"].(string)
	refused := func(method, path, body string) {
		w.Helper()
		if status, answer := w.Call(method, path, body); status != http.StatusBadRequest {
			w.Errorf("%s %s %s: %d %v", method, path, body, status, answer)
		}
	}
	for i, payload := range append(payloads[:len(payloads):len(payloads)], append(braces, turned...)...) {
		text := inJSON(payload)
		refused("PUT", "/management/v1/orgs/me/branding", `{"primaryColor":"`+text+`"}`)
		for _, field := range []string{"redirectUris", "postLogoutRedirectUris", "additionalOrigins"} {
			refused("POST", "/management/v1/projects/"+project+"/apps/oidc", fmt.Sprintf(
				`{"name":"App %d","redirectUris":["https://a.example/"],%q:["%s"]}`, i, field, text))
		}
		refused("POST", "/management/v1/projects/"+project+"/apps/oidc",
			fmt.Sprintf(`{"name":"App %d","redirectUris":["https://a.example/"],"backChannelLogoutUri":"%s"}`, i, text))
	}
	svg := base64.StdEncoding.EncodeToString([]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="hit()"/>`))
	refused("PUT", "/management/v1/orgs/me/branding/logo", `{"logo":"`+svg+`"}`)
	for _, payload := range turned {
		text := inJSON(payload)
		refused("POST", "/management/v1/orgs", `{"name":"`+text+`"}`)
		refused("POST", "/management/v1/projects", `{"name":"`+text+`"}`)
		refused("POST", "/management/v1/projects/"+project+"/apps/oidc", `{"name":"`+text+`"}`)
		for _, field := range []string{"firstName", "lastName", "nickName", "displayName"} {
			refused("POST", "/management/v1/users/human/_import", fmt.Sprintf(`{"userName":"turned",
				"profile":{"firstName":"A","lastName":"B",%q:"%s"},"email":{"email":"a@example.com"}}`, field, text))
		}
	}
}
