package oauth_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"herald/deploy/herald/test/whole"
)

// drawn returns a logo with a square of a color.
func (w world) drawn(c color.Color) []byte {
	w.TB.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 160, 48))
	draw.Draw(picture, image.Rect(0, 0, 48, 48), image.NewUniform(c), image.Point{}, draw.Src)
	draw.Draw(picture, image.Rect(60, 16, 160, 32), image.NewUniform(color.Black), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		w.Fatal(err)
	}
	return b.Bytes()
}

// fill returns the color of the buttons of a page, "" for Herald's.
func (p page) fill() string {
	for _, style := range p.root.All("style") {
		if rest, found := strings.CutPrefix(style.Text(), ":root{--fill:"); found {
			return rest[:len("#000000")]
		}
	}
	return ""
}

const (
	gold = "#ffcc00" // of the organization with the applications
	navy = "#1b2a6b" // of the organization with the person
)

// branded makes an application whose project has a setting for branding.
func (w world) branded(name, setting string) *application {
	w.TB.Helper()
	a := w.application(name)
	w.Must("PUT", "/management/v1/projects/"+w.projectNamed(name),
		`{"name":"`+name+`","privateLabelingSetting":"PRIVATE_LABELING_SETTING_`+setting+`"}`)
	return a
}

// projectNamed returns the id of a project.
func (w world) projectNamed(name string) string {
	w.TB.Helper()
	found := w.Must("POST", "/management/v1/projects/_search",
		`{"queries":[{"nameQuery":{"name":"`+name+`"}}]}`)["result"].([]any)[0].(map[string]any)
	return found["id"].(string)
}

// grant grants projects of an organization to another one, which accepts that: the administrator may accept it there.
func (w world) grant(ownerID, orgID string, names ...string) {
	w.TB.Helper()
	acting := w.Org
	w.Org = ownerID
	for _, name := range names {
		w.Must("POST", "/management/v1/projects/"+w.projectNamed(name)+"/grants", `{"grantedOrgId":"`+orgID+`"}`)
	}
	w.Org = acting
}

// offer grants a project of an organization to another one, as an owner of the first only. So the other one has not
// accepted the grant.
func (w world) offer(ownerID, orgID, name string) {
	w.TB.Helper()
	by := *w.Instance
	by.Org = ownerID
	owner := by.Must("POST", "/management/v1/users/machine", `{"userName":"offers","name":"Owner"}`)["userId"].(string)
	by.Must("POST", "/management/v1/orgs/me/members", `{"userId":"`+owner+`","roles":["ORG_OWNER"]}`)
	project := world{&by, w.TB}.projectNamed(name)
	by.Token = by.Must("POST", "/management/v1/users/"+owner+"/pats", `{}`)["token"].(string)
	by.Must("POST", "/management/v1/projects/"+project+"/grants", `{"grantedOrgId":"`+orgID+`"}`)
	grant := by.Must("POST", "/management/v1/projects/"+project+"/grants/_search", `{}`)["result"].([]any)[0]
	if got := grant.(map[string]any)["acceptance"]; got != "PROJECT_GRANT_ACCEPTANCE_PENDING" {
		w.Fatalf("the grant is %v", got)
	}
}

// People see the branding that the project's setting requires. They see the branding of their own organization only
// after the right password, because otherwise the page would show which users exist, and only if it has accepted the
// project's grant.
func TestWhoseBranding(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("PUT", "/management/v1/orgs/me/branding", `{"primaryColor":"`+gold+`"}`)
	apps := map[*application]string{
		w.branded("Plain", "UNSPECIFIED"): gold, w.branded("Shop", "ENFORCE_PROJECT_RESOURCE_OWNER_POLICY"): gold,
		w.branded("Bank", "ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY"): navy,
		w.branded("Club", "ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY"): gold, // nobody has accepted its grant
	}
	home := w.Org
	w.Org = w.Must("POST", "/management/v1/orgs", `{"name":"Analytical"}`)["id"].(string)
	w.Must("PUT", "/management/v1/orgs/me/branding", `{"primaryColor":"`+navy+`"}`)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", `,"otpCode":"`+otpSecret+`"`))
	w.grant(home, w.Org, "Bank")
	w.offer(home, w.Org, "Club")
	for app, later := range apps {
		const first = gold
		v := w.visitor()
		name := v.visit(app.request("login_hint", "ada"))
		if got := name.fill(); got != first {
			t.Errorf("before the login to %s buttons have %q, want %q", later, got, first)
		}
		for _, who := range []string{"ada", "nobody"} {
			if got := v.submit(name, "name", who, "current", "wrong horse"); got.Status != 400 || got.fill() != first {
				t.Errorf("after a wrong password of %s buttons have %q, want %q", who, got.fill(), first)
			}
		}
		factor := v.enter(name, "ada")
		v.named(factor, "One more step")
		if got := factor.fill(); got != later {
			t.Errorf("after the password buttons have %q, want %q", got, later)
		}
		if got := v.submit(factor, "code", "000000").fill(); got != later {
			t.Errorf("after a wrong code buttons have %q, want %q", got, later)
		}
		if got := v.visit(w.URL + "/ui/login/").fill(); got != "" {
			t.Errorf("without an application buttons have %q", got)
		}
	}
	w.Org = home
	w.Must("DELETE", "/management/v1/orgs/me/branding", "")
}

// The pages of the own account, of mails and of a logout have the branding of the organization to which they belong,
// and so has a login to which an application has only that organization's people admitted, if the organization has
// accepted a grant of the application's project.
func TestBrandingOfOwnPages(t *testing.T) {
	t.Parallel()
	w := start(t)
	shop, bank := w.application("Shop"), w.branded("Bank", "ALLOW_LOGIN_USER_RESOURCE_OWNER_POLICY")
	home := w.Org
	w.Org = w.Must("POST", "/management/v1/orgs", `{"name":"Analytical"}`)["id"].(string)
	w.Must("PUT", "/management/v1/orgs/me/branding", `{"primaryColor":"`+navy+`"}`)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	w.Must("POST", "/management/v1/users/human/_import", whole.Person("bob"))
	has := func(p page, heading, want string) page {
		t.Helper()
		if p.heading() != heading || p.fill() != want {
			t.Errorf("%s: %q has buttons with %q, want %q with %q", p.address, p.heading(), p.fill(), heading, want)
		}
		return p
	}
	v, scope := w.visitor(), "openid urn:service:iam:org:id:"+w.Org
	has(v.visit(shop.request()), "Sign in", "")
	has(v.visit(shop.request("scope", scope)), "Sign in", "")
	w.grant(home, w.Org, "Shop", "Bank")
	scope += " urn:service:iam:org:project:id:service:aud"
	login := has(v.visit(shop.request("scope", scope)), "Sign in", navy)
	has(v.visit(login.address.String()+"&lang=de"), "Anmelden", navy)
	has(v.visit(login.address.String()+"&lang=en"), "Sign in", navy)
	login = has(v.submit(login, "name", "ada", "current", "wrong horse"), "Sign in", navy)
	has(v.submit(login, "name", "ada", "current", "correct horse"), "Let this application act for you?", navy)
	has(v.visit(w.URL+"/ui/account"), "Your account", navy)
	has(v.visit(w.URL+"/ui/account/password"), "Change your password", navy)
	has(v.visit(w.URL+"/ui/login/"), "You are signed in", navy)
	has(v.visit(shop.end("client_id", shop.clientID)), "Do you want to sign out?", "")
	has(v.visit(bank.end("client_id", bank.clientID)), "Do you want to sign out?", navy)
	link := w.link("bob@example.com")
	wrong := regexp.MustCompile(`code=\w+`).ReplaceAllString(link, "code=AAAAAAAA")
	has(v.visit(wrong), "This link no longer works", "") // anybody could have written it
	form := has(v.visit(link), "Activate your account", navy)
	form = has(v.submit(form, "password", "short", "confirmation", "short"), "Activate your account", navy)
	has(v.submit(form, "password", "correct horse", "confirmation", "correct horse"), "Your account is active", navy)
}

// In a browser a page shows the logo and the color, in the light and in the dark, and its policy stops neither.
func TestBrandedPageInABrowser(t *testing.T) {
	t.Parallel()
	w := start(t)
	logo := w.drawn(color.RGBA{R: 0xff, G: 0xcc, A: 0xff})
	w.Must("PUT", "/management/v1/orgs/me/branding", `{"primaryColor":"`+gold+`"}`)
	w.Must("PUT", "/management/v1/orgs/me/branding/logo",
		`{"logo":"`+base64.StdEncoding.EncodeToString(logo)+`"}`)
	address := w.Must("GET", "/management/v1/orgs/me/branding", "")["branding"].(map[string]any)["logoUrl"].(string)
	w.served(address, logo)
	shop, c := w.branded("Shop", "ENFORCE_PROJECT_RESOURCE_OWNER_POLICY"), open(t)
	for _, scheme := range []string{"light", "dark"} {
		c.prefer(scheme)
		if got := c.visit(shop.request()); got != "Sign in" {
			t.Fatalf("the application leads to %q", got)
		}
		c.picture(t, "branded-"+scheme)
		for selector, want := range map[string]map[string]string{
			".button":  {"background-color": "rgb(255, 204, 0)", "color": "rgb(0, 0, 0)"},
			".more a":  {"color": map[string]string{"light": "rgb(135, 108, 0)", "dark": "rgb(255, 204, 0)"}[scheme]},
			"img.logo": {"height": map[string]string{"light": "48px", "dark": "64px"}[scheme]},
		} {
			for property, want := range want {
				if got := c.styled(selector, property); got != want {
					t.Errorf("%s: %s of %s is %s, want %s", scheme, property, selector, got, want)
				}
			}
		}
	}
}

// served fails the test unless anybody gets a logo at its address.
func (w world) served(address string, logo []byte) {
	w.TB.Helper()
	r, err := http.Get(address)
	if err != nil {
		w.Fatal(err)
	}
	defer r.Body.Close()
	got, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || !bytes.Equal(got, logo) ||
		r.Header.Get("Content-Type") != "image/png" || r.Header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
		w.Errorf("%s answers %d, %v, %v", address, r.StatusCode, r.Header, err)
	}
}

// prefer makes the browser prefer light or dark pages.
func (c chromium) prefer(scheme string) {
	c.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	if _, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		c.Fatal(err)
	}
}

// styled returns a property of the style of an element.
func (c chromium) styled(selector, property string) string {
	c.Helper()
	got, err := chromedp.Run(c.ctx, chromedp.Evaluate[string](
		fmt.Sprintf("getComputedStyle(document.querySelector(%q)).getPropertyValue(%q)", selector, property)))
	if err != nil {
		c.Fatal(err)
	}
	return got
}
