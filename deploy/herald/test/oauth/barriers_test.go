package oauth_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/browser"
)

// reader is somebody who looks at pages in one language, and meets no barrier on any.
type reader struct {
	chromium
	world
	t     *testing.T
	texts map[string]string
	// language is that of the texts, and in the names of what the reader needs.
	language string
	axe      string
	shop     *application
	// seen are the names of the pages that were looked at.
	seen []string
}

func (w world) reader(t *testing.T, language string) *reader {
	t.Helper()
	r := &reader{chromium: chromium{t, browser.Open(t, chromedp.Flag("accept-lang", language))}, world: w, t: t,
		language: language, axe: whole.Axe(t)}
	for _, folder := range []string{"", "account/"} {
		file := "services/auth/internal/look/texts/" + folder + language + ".json"
		if err := json.Unmarshal([]byte(whole.File(t, file)), &r.texts); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// pages returns the names of all pages.
func (r *reader) pages() (names []string) {
	for key := range r.texts {
		if name, ok := strings.CutSuffix(key, ".title"); ok {
			names = append(names, name)
		}
	}
	return names
}

// views are how a page is looked at.
var views = []struct {
	scheme string
	width  int64
}{{"light", 1280}, {"dark", 320}}

// violations is the call of axe that returns what it finds on a page, one a line.
const violations = `;axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(v =>
	v.id + ": " + v.nodes.map(n => n.html + " " + n.failureSummary).join("; ")).join("\n"))`

// barriers returns what axe finds on the page.
func (r *reader) barriers() string {
	r.t.Helper()
	found, err := chromedp.Run(r.ctx, chromedp.Evaluate[string](r.axe+violations, chromedp.EvalAwaitPromise))
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// on fails the test unless the browser shows the page of that name, and there is no barrier on it: on a wide screen
// in light colours, and on a phone in dark ones.
func (r *reader) on(name string) {
	r.t.Helper()
	if got, want := r.read("h1"), r.texts[name+".title"]; got != want || want == "" {
		r.t.Fatalf("the page is %q, want %s", got, name)
	}
	for _, v := range views {
		if _, err := chromedp.Call(r.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.scheme}},
		}); err != nil {
			r.t.Fatal(err)
		}
		if _, err := chromedp.Call(r.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: v.width, Height: 800, DeviceScaleFactor: 1,
		}); err != nil {
			r.t.Fatal(err)
		}
		if found := r.barriers(); found != "" {
			r.t.Errorf("%s, %s: %s", name, v.scheme, found)
		}
		wide, err := chromedp.Run(r.ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth"))
		if err != nil || wide > v.width {
			r.t.Errorf("%s is %d wide on a screen of %d: %v", name, wide, v.width, err)
		}
		r.picture(r.t, strings.ReplaceAll(name, ".", "-")+"-"+v.scheme)
	}
	r.seen = append(r.seen, name)
}

// opens opens an address, which must show a page.
func (r *reader) opens(address, name string) {
	r.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = r.URL + address
	}
	r.chromium.visit(address)
	r.on(name)
}

// sends fills in a form and presses its button, which must lead to a page.
func (r *reader) sends(name string, fields ...string) {
	r.t.Helper()
	r.submit(fields...)
	r.on(name)
}

// clicks presses something else, which must lead to a page.
func (r *reader) clicks(selector, name string) {
	r.t.Helper()
	r.click(selector)
	r.on(name)
}

// Nobody meets a barrier that axe-core knows, on any page.
func TestPagesHaveNoBarriers(t *testing.T) {
	t.Parallel()
	w := start(t)
	shop := w.application("Shop")
	t.Run("a barrier is found", func(t *testing.T) {
		r := w.reader(t, "en")
		r.chromium.visit(shop.request())
		remove := chromedp.Evaluate[any](`document.querySelector("label").remove()`)
		if _, err := chromedp.Run(r.ctx, remove); err != nil {
			t.Fatal(err)
		}
		if found := r.barriers(); !strings.Contains(found, "label: ") {
			t.Errorf("a field without a label is no barrier: %s", found)
		}
	})
	for _, language := range []string{"en", "de"} {
		var all, seen []string
		for name, look := range map[string]func(*reader){
			"mails": (*reader).mails, "logins": (*reader).logins, "account": (*reader).account,
			"applications": (*reader).applications,
		} {
			t.Run(language+"/"+name, func(t *testing.T) {
				r := w.reader(t, language)
				r.shop = shop
				look(r)
				all, seen = r.pages(), append(seen, r.seen...)
			})
		}
		for _, name := range all {
			if !slices.Contains(seen, name) && !unseen.MatchString(name) && !ofAccount(t, name) {
				t.Errorf("nobody has looked at the page %s", name)
			}
		}
	}
}

// unseen are pages that have only texts, as others do, and are reached only by a fault of Herald, another site, the
// time or a directory; and one that sends itself.
var unseen = regexp.MustCompile(`^(away|failed|foreign|expired|locked|return|deviceno|forward|external\w+)$`)

// ofAccount reports whether a page belongs to the own account. Those that are about an object are opened if the person
// has one.
func ofAccount(t *testing.T, name string) bool {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(whole.Root(t), "services/auth/internal/account/*.go"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources of the account: %v", err)
	}
	return slices.ContainsFunc(sources, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), `"`+name+`"`)
	})
}

// mails looks at the pages of mails.
func (r *reader) mails() {
	name := "mail-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.initial(name, ""))
	link := r.link(name + "@example.com")
	wrong := regexp.MustCompile(`code=\w+`).ReplaceAllString(link, "code=AAAAAAAA")
	r.opens(wrong, "init.form")
	r.clicks("form.other button", "init.resent")
	r.opens(link, "init.form")
	r.sends("init.form", "password", "short", "confirmation", "shorter")
	r.sends("init.form", "password", "short", "confirmation", "short")
	r.sends("init.done", "password", "correct horse", "confirmation", "correct horse")
	r.opens(strings.Replace(wrong, "user/init", "mail/verification", 1), "verifyemail.confirm")
	r.clicks("form.other button", "verifyemail.resent")
	r.opens(strings.Replace(wrong, "user/init", "password/reset", 1), "passwordreset.form")
	r.clicks("form.other button", "passwordreset.resent")
	second := "second-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.person(second, ""))
	r.Must("PUT", "/management/v1/users/"+second+"/email", `{"email":"new-`+second+`@example.com"}`)
	r.opens(r.link("new-"+second+"@example.com"), "verifyemail.confirm")
	r.sends("verifyemail.done")
	third := "third-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.person(third, ""))
	r.Must("POST", "/management/v1/users/"+third+"/password/_reset", "{}")
	r.opens(r.link(third+"@example.com"), "passwordreset.form")
	r.sends("passwordreset.done", "password", "another horse", "confirmation", "another horse")
	initial := "set-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.initial(initial, `,"password":"correct horse"`))
	r.opens(r.link(initial+"@example.com"), "init.confirm")
}

// initial returns the import of somebody who reads the language and has to activate the account.
func (r *reader) initial(name, more string) string {
	return `{"userId":"` + name + `","userName":"` + name + `","profile":{"firstName":"Bob","lastName":"B",` +
		`"preferredLanguage":"` + r.language + `"},"email":{"email":"` + name + `@example.com"}` + more + `}`
}

// person returns the import of somebody who reads the language and can log in.
func (r *reader) person(name, more string) string {
	return strings.Replace(person(name, more), `"lastName":`, `"preferredLanguage":"`+r.language+`","lastName":`, 1)
}

// enters logs in, which must lead to a page.
func (r *reader) enters(name, page string) {
	r.t.Helper()
	r.chromium.visit(r.shop.request("prompt", "login"))
	r.sends(page, "name", name, "current", "correct horse")
}

// logins looks at the pages on which somebody logs in.
func (r *reader) logins() {
	r.opens(r.shop.request(), "login")
	r.sends("login", "name", "nobody", "current", "wrong horse")
	r.clicks(".more a", "forgot")
	r.sends("passwordreset.resent", "name", "nobody")
	set := "made-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.initial(set, `,"password":"correct horse"`))
	r.enters(set, "initial")
	off := "off-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.person(off, ""))
	r.Must("POST", "/management/v1/users/"+off+"/_deactivate", "{}")
	r.enters(off, "inactive")
	next := "next-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.person(next, `,"passwordChangeRequired":true`))
	r.enters(next, "newpassword")
	r.sends("newpassword", "password", "short", "confirmation", "short")
	otp := "otp-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.person(otp, `,"otpCode":"`+otpSecret+`"`))
	r.enters(otp, "factor")
	for range 5 {
		r.sends("factor", "code", "000000")
	}
	r.sends("loginlocked", "code", "000000")
	fresh := "fresh-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.person(fresh, ""))
	r.Must("PUT", "/management/v1/users/"+fresh+"/email", `{"email":"new-`+fresh+`@example.com"}`)
	r.enters(fresh, "verifyemail.confirm")
	r.sends("verifyemail.confirm", "code", "AAAAAAAA")
	r.clicks("form.other button", "verifyemail.confirm")
	r.opens("/ui/login/enrol", "enrol")
	r.sends("enrolscan")
	r.sends("enrolscan", "code", "000000")
	r.do(chromedp.Click(chromedp.CSS("details.key summary")))
	r.on("enrolscan")
	r.sends("recovery", "code", shownBy(r.t, strings.ReplaceAll(r.read("details.key code"), " ", ""), 0))
	r.opens("/ui/login/enrol", "protected")
	r.opens("/ui/login/", "session")
	r.opens(r.shop.request("prompt", "select_account"), "choose")
}

// ownLinks returns the addresses on the page that lead to pages of the own account.
const ownLinks = `[...document.querySelectorAll("main a[href^='/ui/account']")].map(a => a.getAttribute("href"))`

// account looks at the pages of the own account that can be opened from its first page.
func (r *reader) account() {
	r.logsIn("own")
	found, looked := []string{"/ui/account"}, map[string]bool{}
	for len(found) > 0 {
		address := found[0]
		if found = found[1:]; looked[path(address)] {
			continue
		}
		looked[path(address)] = true
		title := r.chromium.visit(r.URL + address)
		for key, text := range r.texts {
			if name, ok := strings.CutSuffix(key, ".title"); ok && text == title {
				r.on(name)
				break
			}
		}
		more, err := chromedp.Run(r.ctx, chromedp.Evaluate[[]string](ownLinks))
		if err != nil {
			r.t.Fatal(err)
		}
		found = append(found, more...)
	}
	if len(looked) < 4 {
		r.t.Errorf("the account has only the pages %v", looked)
	}
}

// path returns an address without its query: other languages and objects have the same page.
func path(address string) string {
	before, _, _ := strings.Cut(address, "?")
	return before
}

// applications looks at the questions of applications and devices.
func (r *reader) applications() {
	r.logsIn("member")
	r.opens(r.shop.request("scope", apiScope), "consent")
	r.opens(r.foreign().request("scope", "openid profile email phone offline_access"), "share")
	device := r.asks(r.device("TV " + r.language))
	r.opens("/ui/login/device", "device")
	r.sends("device", "code", "BBBBBBBB")
	r.sends("deviceask", "code", device.text("user_code"))
	r.sends("devicedone")
	second := r.asks(r.device("Radio " + r.language))
	r.chromium.visit(second.text("verification_uri_complete"))
	r.submit()
	r.clicks("button.quiet", "devicerefused")
	r.opens(r.shop.end("client_id", r.shop.clientID), "endsession")
	r.opens("/ui/login/", "session")
	r.sends("signedout")
	r.faults()
}

// logsIn logs somebody in who has nothing left to do.
func (r *reader) logsIn(name string) {
	name += "-" + r.language
	r.Must("POST", "/management/v1/users/human/_import", r.person(name, ""))
	r.chromium.visit(r.shop.request())
	if got := r.submit("name", name, "current", "correct horse"); got != "Welcome" {
		r.t.Fatalf("the login leads to %q", got)
	}
}

// foreign returns an application of another organization.
func (r *reader) foreign() *application {
	other := r.Must("POST", "/management/v1/orgs", `{"name":"Other `+r.language+`"}`)["id"].(string)
	as := *r.Instance
	as.Org = other
	return world{&as, r.t}.application("Foreign " + r.language)
}

// faults looks at the pages that say what is wrong.
func (r *reader) faults() {
	r.opens("/oauth/v2/authorize?client_id=nobody&redirect_uri=https://a.example/", "refusedclient")
	r.opens(r.shop.end("client_id", "nobody"), "refusedlogout")
	r.opens("/ui/login/?request=gone", "requestgone")
	r.opens("/ui/nothing", "unknown")
	r.opens("/ui/login/user/init", "malformed")
}
