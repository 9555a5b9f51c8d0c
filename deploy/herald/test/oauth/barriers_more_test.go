package oauth_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// guesses looks at the page for a code that was guessed too often.
func (r *reader) guesses(user string) {
	const path = "/ui/login/user/init"
	form := url.Values{"userID": {user}, "code": {"AAAAAAAA"}, "passwordset": {"true"}}
	for range 10 {
		r.stranger("192.0.2.1", path, form)
	}
	form.Del("code")
	r.opens(path+"?"+form.Encode(), "init.confirm")
	r.sends("locked", "code", "AAAAAAAA")
}

// stranger posts a form of Herald from an address.
func (r *reader) stranger(from, path string, form url.Values) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.Header.Set("Origin", r.URL)
	q.Header.Set("X-Forwarded-For", from)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = answer.Body.Close()
}

// deviceNo looks at the page for somebody without a role of the project of a device.
func (r *reader) deviceNo() {
	name := "Safe " + r.language
	client := r.device(name)
	found := r.Must("POST", "/management/v1/projects/_search",
		`{"queries":[{"nameQuery":{"name":"`+name+`"}}]}`)["result"].([]any)[0].(map[string]any)
	r.Must("PUT", "/management/v1/projects/"+found["id"].(string), `{"name":"`+name+`","projectRoleCheck":true}`)
	r.chromium.visit(r.asks(client).text("verification_uri_complete"))
	r.submit()
	r.sends("deviceno")
}

// postsItself looks at the page that takes the answer to an application which wants it in a form.
func (r *reader) postsItself(name string) {
	v := r.visitor()
	v.login(r.shop, name)
	r.shows(v.visit(r.shop.request("response_mode", "form_post", "lang", r.language)), "return")
}

// shows looks at a page that goes on by itself: without what makes it do so.
func (r *reader) shows(p page, name string) {
	r.t.Helper()
	var text strings.Builder
	if err := html.Render(&text, p.root.Node); err != nil {
		r.t.Fatal(err)
	}
	r.chromium.visit(r.URL + "/ui/nothing") // its policy runs no scripts
	tree, err := chromedp.Call(r.ctx, cdppage.GetFrameTree, cdp.Empty{})
	if err == nil {
		_, err = chromedp.Call(r.ctx, cdppage.SetDocumentContent,
			cdppage.SetDocumentContentParams{FrameID: tree.FrameTree.Frame.ID, HTML: text.String()})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.on(name)
}

// ownLinks returns the addresses on the page that lead to pages of the own account.
const ownLinks = `[...document.querySelectorAll("main a[href^='/ui/account']")].map(a => a.getAttribute("href"))`

// account looks at all pages of the own account of somebody who has one of everything there.
func (r *reader) account(c company) {
	c.linked("own-"+r.language, "account-"+r.language, "")
	r.offered("own-" + r.language)
	elsewhere := r.visitor()
	r.chromium.visit(r.shop.request())
	r.submit("name", "own-"+r.language, "current", "correct horse")
	elsewhere.submit(elsewhere.visit(r.shop.request()), "name", "own-"+r.language, "current", "correct horse")
	r.opens(r.foreign().request("scope", "openid email"), "share")
	r.submit()
	r.opens("/ui/account/tokens/new", "newtoken")
	r.sends("tokenmade")
	r.opens("/ui/account/email/change", "changeemail")
	r.sends("email", "email", "next-own-"+r.language+"@example.com")
	r.opens("/ui/account/otp/add", "enrol")
	r.sends("enrolscan")
	key := strings.ReplaceAll(r.hidden("details.key code"), " ", "")
	r.sends("recovery", "code", shownBy(r.t, key, 0))
	r.opens("/ui/account/sessions/end?id=none", "accountgone")
	found, looked := []string{"/ui/account"}, map[string]bool{}
	for len(found) > 0 {
		address := found[0]
		if found = found[1:]; looked[path(address)] {
			continue
		}
		looked[path(address)] = true
		title, name := r.chromium.visit(r.URL+address), ""
		for key, text := range r.texts {
			if one, ok := strings.CutSuffix(key, ".title"); ok && text == title {
				name = one
			}
		}
		r.on(name)
		more, err := chromedp.Run(r.ctx, chromedp.Evaluate[[]string](ownLinks))
		if err != nil {
			r.t.Fatal(err)
		}
		found = append(found, more...)
	}
	r.opens("/ui/account/profile", "profile")
	r.forget()
	r.sends("formold")
}

// forget removes the browser's cookies.
func (r *reader) forget() {
	r.t.Helper()
	if _, err := chromedp.Call(r.ctx, network.ClearBrowserCookies, cdp.Empty{}); err != nil {
		r.t.Fatal(err)
	}
}

// offered gives somebody roles in two other organizations. One of them has an owner of its own, so that its roles wait
// to be accepted.
func (r *reader) offered(userID string) {
	r.T.Helper()
	give := func(by whole.Instance) {
		by.Must("POST", "/management/v1/orgs/me/members", `{"userId":"`+userID+`","roles":["ORG_USER_MANAGER"]}`)
	}
	by := *r.Instance
	by.Org = r.Must("POST", "/management/v1/orgs", `{"name":"Friends of `+userID+`"}`)["id"].(string)
	give(by)
	by.Org = r.Must("POST", "/management/v1/orgs", `{"name":"Strangers to `+userID+`"}`)["id"].(string)
	owner := by.Must("POST", "/management/v1/users/machine",
		`{"userName":"owner-`+userID+`","name":"Owner"}`)["userId"].(string)
	by.Must("POST", "/management/v1/orgs/me/members", `{"userId":"`+owner+`","roles":["ORG_OWNER"]}`)
	by.Token = by.Must("POST", "/management/v1/users/"+owner+"/pats", `{}`)["token"].(string)
	give(by)
}

// hidden returns the text of an element that may not be shown.
func (r *reader) hidden(selector string) string {
	r.t.Helper()
	text, err := chromedp.Run(r.ctx, chromedp.Evaluate[string](`document.querySelector("`+selector+`").textContent`))
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// path returns an address without its query: other languages and objects have the same page.
func path(address string) string {
	before, _, _ := strings.Cut(address, "?")
	return before
}

// arrived is the link of a page that says why somebody cannot log in with an account of a directory.
const (
	arrived = `main > a.button[href^="/ui/login"]`
	// partner is the button of a provider to which people may link accounts.
	partner = `form[action="/ui/login/externalidp"]:nth-of-type(2) button`
)

// directory looks at the pages of a login with an account of a directory.
func (r *reader) directory(c company) {
	c.at.Honest()
	v := r.visitor()
	r.shows(v.press(v.visit(r.shop.request("ui_locales", r.language)), "Company"), "forward")
	c.at.Replace(outside.Authorize, func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, q.FormValue("redirect_uri")+"?"+url.Values{
			"error": {"access_denied"}, "state": {q.FormValue("state")}}.Encode(), http.StatusFound)
	})
	r.chromium.visit(r.shop.request("prompt", "login"))
	r.clickTo(offer, arrived)
	r.on("externaldenied")
	r.opens("/ui/login/externalidp/callback?code=used&state=used", "externalgone")
	taken := "taken-" + r.language
	c.linked(taken, "object-"+r.language, "")
	for page, claims := range map[string]outside.Claims{
		"externaltenant":  {"iss": "https://evil.example/" + outside.Company + "/v2.0"},
		"externalrefused": {"nonce": "another"},
		"externalunknown": {"tid": outside.OtherCompany, "oid": "object-" + r.language},
		"externallacking": {"family_name": nil},
		"externaltaken":   {"preferred_username": taken},
		"externalnew":     {},
	} {
		c.at.Honest()
		if claims["iss"] != nil || claims["nonce"] != nil { // no account has these
			c.at.Change(outside.IDToken, func(token outside.Claims) { maps.Copy(token, claims) })
		} else {
			c.at.LogIn(claims)
		}
		r.chromium.visit(r.shop.request("prompt", "login"))
		r.clickTo(offer, arrived+", main > form input[name=confirmed] ~ button")
		if page == "externaltaken" || page == "externallacking" {
			r.clickTo("main form button", arrived)
		}
		r.on(page)
	}
	c.at.Honest()
	c.at.LogIn(outside.Claims{"oid": "nobody"})
	r.chromium.visit(r.shop.request("prompt", "login"))
	r.clickTo(partner, `main > a[href^="/ui/account/idplinks"]`)
	r.on("externalunlinked")
	r.chromium.visit(r.shop.request("prompt", "login"))
	r.Must("POST", "/management/v1/idps/"+c.idp+"/_deactivate", "{}")
	r.clicks(offer, "externaloff")
	r.Must("POST", "/management/v1/idps/"+c.idp+"/_reactivate", "{}")
	// Pages offer what they offered in the last two seconds.
	login := v.visit(r.shop.request()).address.String()
	for end := time.Now().Add(time.Minute); !strings.Contains(v.visit(login).root.Text(), "Company"); {
		if time.Now().After(end) {
			r.t.Fatal("the provider is not offered again")
		}
	}
}

// toHerald makes the page of an application send a form to Herald.
const toHerald = `const form = document.createElement("form"); form.method = "post"; form.action = HERALD;
	form.append(document.createElement("button")); document.body.append(form); "made"`

// from makes the browser one with that address.
func (r *reader) from(address string) {
	r.t.Helper()
	headers := network.SetExtraHTTPHeadersParams{Headers: network.Headers{"X-Forwarded-For": address}}
	if _, err := chromedp.Call(r.ctx, network.SetExtraHTTPHeaders, headers); err != nil {
		r.t.Fatal(err)
	}
}

// crowded is an address from which too many forms come.
const crowded = "192.0.2.2"

// faults looks at the pages that say what is wrong.
func (r *reader) faults() {
	r.opens("/oauth/v2/authorize?client_id=nobody&redirect_uri=https://a.example/", "refusedclient")
	r.opens(r.shop.end("client_id", "nobody"), "refusedlogout")
	r.opens("/ui/login/?request=gone", "requestgone")
	r.chromium.visit(r.shop.request())
	r.forget()
	r.sends("nocookies", "name", "nobody", "current", "wrong horse")
	r.opens("/ui/nothing", "unknown")
	r.opens("/ui/login/user/init", "malformed")
	r.chromium.visit(r.shop.bye)
	made := strings.ReplaceAll(toHerald, "HERALD", `"`+r.URL+`/ui/login/password"`)
	if _, err := chromedp.Run(r.ctx, chromedp.Evaluate[string](made)); err != nil {
		r.t.Fatal(err)
	}
	r.clicks("button", "foreign")
	r.from(crowded)
	for range 60 {
		r.stranger(crowded, "/ui/login/device", url.Values{"user_code": {"BBBBBBBB"}})
	}
	r.chromium.visit(r.URL + "/ui/login/device")
	r.sends("away", "code", "BBBBBBBB")
}
