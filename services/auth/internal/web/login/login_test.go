package login_test

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"herald/services/auth/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// A login gives a browser a cookie of its own, which is worth something until the logout or a change of the user.
func TestSessionLastsUntilTheLogout(t *testing.T) {
	t.Parallel()
	pages, u, _ := testworld.New(t)
	preset := testworld.SessionCookie + "=" + strings.Repeat("a", 43)
	testworld.Shows(t, testworld.Call(t, pages, loginPath, nil, "Cookie", preset), 200, "login")
	in := testworld.Call(t, pages, loginPath+"password", testworld.Named("right"), "Cookie", preset)
	testworld.Leads(t, in, loginPath)
	session := testworld.Cookie(t, in, testworld.SessionCookie)
	if session == "" || session == preset {
		t.Fatalf("the login sets %q", session)
	}
	page := testworld.Call(t, pages, loginPath, nil, "Cookie", session)
	testworld.Shows(t, page, 200, "session")
	if strings.Contains(page.Body.String(), "<script>") || !strings.Contains(page.Body.String(), "ada &lt;b&gt;") {
		t.Error("names are not escaped")
	}
	if first := testworld.Page(t, page).Find("a", "class", "button"); first.Attr("href") != "/ui/account" {
		t.Errorf("the main button leads to %q, not to the account", first.Attr("href"))
	}
	again := testworld.Cookie(t, testworld.Call(t, pages, loginPath+"password", testworld.Named("right"), "Cookie",
		session), testworld.SessionCookie)
	if again == "" || again == session {
		t.Errorf("the second login sets %q", again)
	}
	testworld.Shows(t, testworld.Call(t, pages, loginPath, nil, "Cookie", session), 200, "login")
	out := testworld.Call(t, pages, loginPath+"logout", url.Values{}, "Cookie", again)
	testworld.Leads(t, out, loginPath+"signedout")
	if testworld.Cookie(t, out, testworld.SessionCookie) != "" ||
		!strings.Contains(fmt.Sprint(out.Header()["Set-Cookie"]), "Max-Age=0") {
		t.Errorf("the logout sets %q", out.Header()["Set-Cookie"])
	}
	testworld.Shows(t, testworld.Call(t, pages, loginPath, nil, "Cookie", again), 200, "login")
	third := testworld.Cookie(t, testworld.Call(t, pages, loginPath+"password", testworld.Named("right")),
		testworld.SessionCookie)
	u.Change()
	testworld.Shows(t, testworld.Call(t, pages, loginPath, nil, "Cookie", third), 200, "login")
}

// Before the second factor, and before another password, a browser has nothing that is worth anything.
func TestLoginNeedsAllItsSteps(t *testing.T) {
	t.Parallel()
	pages, u, _ := testworld.New(t)
	factor, next := loginPath+"factor", loginPath+"next"
	in := testworld.Call(t, pages, loginPath+"password", testworld.Named("both"))
	testworld.Leads(t, in, factor)
	begun := testworld.Cookie(t, in, testworld.LoginCookie)
	if testworld.Cookie(t, in, testworld.SessionCookie) != "" || begun == "" {
		t.Fatalf("the password sets %q", in.Header()["Set-Cookie"])
	}
	value := strings.TrimPrefix(begun, testworld.LoginCookie)
	testworld.Shows(t, testworld.Call(t, pages, loginPath, nil, "Cookie", testworld.SessionCookie+value), 200, "login")
	testworld.Shows(t, testworld.Call(t, pages, factor, nil, "Cookie", begun), 200, "factor")
	testworld.Leads(t, testworld.Call(t, pages, next, nil, "Cookie", begun), factor)
	good := url.Values{"password": {"Tr0ub4dor3"}, "confirmation": {"Tr0ub4dor3"}}
	testworld.Leads(t, testworld.Call(t, pages, next, good, "Cookie", begun), factor) // the last step first
	asked := len(u.Requests())
	for _, code := range []string{"", " ", "\x00", "a\r\nb", strings.Repeat("1", 65)} {
		testworld.Shows(t, testworld.Call(t, pages, factor, url.Values{"code": {code}}, "Cookie", begun), 400, "factor")
	}
	testworld.Shows(t, testworld.Call(t, pages, factor, url.Values{"code[]": {"123456"}}, "Cookie", begun), 400,
		"factor")
	if len(u.Requests()) != asked {
		t.Error("users was asked about a code that nobody has typed")
	}
	testworld.Shows(t, testworld.Call(t, pages, factor, url.Values{"code": {"111111"}}, "Cookie", begun), 400, "factor")
	testworld.Shows(t, testworld.Call(t, pages, factor, url.Values{"code": {"222222"}}, "Cookie", begun), 429,
		"loginlocked")
	testworld.Shows(t, testworld.Call(t, pages, factor, url.Values{"code": {"333333"}}, "Cookie", begun), 400,
		"loginover")
	for _, without := range []string{"", testworld.LoginCookie + "=" + strings.Repeat("b", 43)} {
		testworld.Shows(t, testworld.Call(t, pages, factor, url.Values{"code": {"123456"}}, "Cookie", without), 400,
			"loginover")
	}
	testworld.Leads(t, testworld.Call(t, pages, factor, url.Values{"code": {"123456"}}, "Cookie", begun), next)
	testworld.Leads(t, testworld.Call(t, pages, factor, url.Values{"code": {"123456"}}, "Cookie", begun), next)
	for typed, confirmed := range map[string]string{
		"": "", "Tr0ub4dor3": "Tr0ub4dor", "short": "short", "\xff": "\xff",
	} {
		form := url.Values{"password": {typed}, "confirmation": {confirmed}}
		testworld.Shows(t, testworld.Call(t, pages, next, form, "Cookie", begun), 400, "newpassword")
	}
	done := testworld.Call(t, pages, next, good, "Cookie", begun)
	testworld.Leads(t, done, loginPath)
	session := testworld.Cookie(t, done, testworld.SessionCookie)
	testworld.Shows(t, testworld.Call(t, pages, loginPath, nil, "Cookie", session), 200, "session")
	again := testworld.Call(t, pages, next, good, "Cookie", begun) // a login makes one session
	testworld.Shows(t, again, 400, "loginover")
	testworld.Leads(t, testworld.Call(t, pages, next, good, "Cookie", begun+"; "+session), loginPath)
}

// What a person can do is on the page, with the right status.
func TestRefusedLoginHasAPageAndNoSession(t *testing.T) {
	t.Parallel()
	pages, _, _ := testworld.New(t)
	for password, want := range map[string]struct {
		status int
		page   string
	}{
		"wrong": {400, "login"}, "": {400, "login"}, "\xff": {400, "login"}, "odd": {400, "login"},
		"locked": {429, "loginlocked"}, "busy": {429, "away"}, "away": {503, "away"}, "broken": {500, "failed"},
		"initial": {403, "initial"}, "inactive": {403, "inactive"}, "closed": {403, "inactive"},
	} {
		t.Run(strconv.Quote(password), func(t *testing.T) {
			w := testworld.Call(t, pages, loginPath+"password", testworld.Named(password))
			testworld.Shows(t, w, want.status, want.page)
			if (want.status == 429 || want.status == 503) != (w.Header().Get("Retry-After") != "") {
				t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
			}
			if len(w.Result().Cookies()) != 0 {
				t.Errorf("sets %v", w.Result().Cookies())
			}
			if password == "locked" && !strings.Contains(w.Body.String(), "Minutes to wait: 14") {
				t.Error("the page does not say how long to wait")
			}
		})
	}
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("a", 401), `"><script>alert(1)</script>`} {
		w := testworld.Call(t, pages, loginPath+"password", url.Values{"name": {name}, "current": {"wrong"}})
		testworld.Shows(t, w, 400, "login")
		if strings.Contains(w.Body.String(), "<script>") {
			t.Errorf("%q is not escaped", name)
		}
	}
	for _, id := range []string{strings.Repeat("a", 65), "%00", "%ff"} {
		testworld.Shows(t, testworld.Call(t, pages, loginPath+"?request="+id, nil), 400, "malformed")
	}
	testworld.Shows(t, testworld.Call(t, pages, loginPath+"?request=unknown", nil), 400, "requestgone")
	w := testworld.Call(t, pages, loginPath+"?name=ada&current=canary", nil)
	testworld.Shows(t, w, 200, "login")
	if strings.Contains(w.Body.String(), "canary") {
		t.Error("a password in the address counts")
	}
}

// No other site logs somebody in or out.
func TestOtherSitesCannotLogIn(t *testing.T) {
	t.Parallel()
	pages, u, _ := testworld.New(t)
	session := testworld.Cookie(t, testworld.Call(t, pages, loginPath+"password", testworld.Named("right")),
		testworld.SessionCookie)
	asked := len(u.Requests())
	for _, path := range []string{"password", "factor", "next", "continue", "logout"} {
		for _, site := range []string{"cross-site", "same-site"} {
			w := testworld.Call(t, pages, loginPath+path, testworld.Named("right"), "Sec-Fetch-Site", site, "Cookie",
				session)
			testworld.Shows(t, w, 403, "foreign")
		}
	}
	if len(u.Requests()) != asked {
		t.Error("users was asked")
	}
	testworld.Shows(t, testworld.Call(t, pages, loginPath, nil, "Cookie", session), 200, "session")
}

// A browser in which somebody logged in proves that to the service users with each password. No other cookie does.
func TestBrowserOfThePersonIsKnown(t *testing.T) {
	t.Parallel()
	pages, users, _ := testworld.New(t)
	const tried = "__Host-herald-cookies=1"
	asked := func(cookie string) *usersv1.CheckPasswordRequest {
		t.Helper()
		testworld.Call(t, pages, loginPath+"password", testworld.Named("wrong"), "Cookie", cookie)
		all := users.Requests()
		for i := len(all) - 1; i >= 0; i-- {
			if r, ok := all[i].(*usersv1.CheckPasswordRequest); ok {
				return r
			}
		}
		t.Fatal("no password was checked")
		return nil
	}
	if r := asked(tried); r.Browser != "" || r.BrowserUserIds != nil {
		t.Errorf("a new browser: %v", r)
	}
	login := func(cookie string) string {
		t.Helper()
		done := testworld.Call(t, pages, loginPath+"password", testworld.Named("right"), "Cookie", cookie)
		for _, c := range done.Result().Cookies() {
			if c.Name == "__Host-herald-browser" && c.HttpOnly && c.Secure && c.MaxAge > 0 {
				return c.Name + "=" + c.Value
			}
		}
		t.Fatal("the browser gets no cookie")
		return ""
	}
	cookie := login(tried)
	r := asked(cookie)
	if len(r.Browser) != 43 || !slices.Equal(r.BrowserUserIds, []string{"u1"}) {
		t.Errorf("the browser: %v", r)
	}
	if a := asked(login(cookie)); a.Browser != r.Browser || !slices.Equal(a.BrowserUserIds, []string{"u1"}) {
		t.Errorf("after another login: %v", a)
	}
	name, value, _ := strings.Cut(cookie, "=")
	for _, forged := range []string{value[1:], value + "AAAA", strings.Repeat("A", len(value)), "!", ""} {
		if r := asked(name + "=" + forged); r.Browser != "" || r.BrowserUserIds != nil {
			t.Errorf("the cookie %q: %v", forged, r)
		}
	}
}

// The page of a pause leads on: back, and to the mail whose code ends the pause.
func TestLockedPageLeadsOn(t *testing.T) {
	t.Parallel()
	pages, _, _ := testworld.New(t)
	w := testworld.Call(t, pages, loginPath+"password", testworld.Named("locked"))
	for _, link := range []string{`href="/ui/login/"`, `href="/ui/login/forgot"`} {
		if !strings.Contains(w.Body.String(), link) {
			t.Errorf("the page has no %s:\n%s", link, w.Body)
		}
	}
}

// A login beyond the quota of sessions ends the oldest session of the user, and no other.
func TestOldestSessionEnds(t *testing.T) {
	t.Parallel()
	pages, _, _ := testworld.New(t)
	var sessions []string
	for range 11 {
		in := testworld.Call(t, pages, loginPath+"password", testworld.Named("right"))
		sessions = append(sessions, testworld.Cookie(t, in, testworld.SessionCookie))
	}
	for n, session := range sessions {
		want := "session"
		if n < 2 {
			want = "login"
		}
		testworld.Shows(t, testworld.Call(t, pages, loginPath, nil, "Cookie", session), 200, want)
	}
}
