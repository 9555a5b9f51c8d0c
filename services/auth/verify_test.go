package auth

import (
	"net/url"
	"strings"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

const verifyPath = loginPath + "verify"

// Who logs in with an address that was never verified can enter the code of the mail, ask for another one, or go on.
func TestVerifyAtLogin(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	u := &users{unverified: true, asked: make(chan *usersv1.RequestCodeRequest, 1)}
	serveUsers(t, g, u)
	pages := open(t, g, public)
	for _, path := range []string{"", "/mail"} {
		leads(t, call(t, pages, verifyPath+path, url.Values{"code": {"GUTERKXD"}}), loginPath)
	}
	in := call(t, pages, loginPath+"password", named("right"))
	leads(t, in, verifyPath)
	session := cookie(t, in, sessionCookie)
	page := call(t, pages, verifyPath, nil, "Cookie", session)
	shows(t, page, 200, "verifyemail.confirm")
	if !strings.Contains(page.Body.String(), "&lt;i&gt;ada@example.com") {
		t.Errorf("the page does not have the address: %s", page.Body)
	}
	for code, want := range map[string]struct {
		status int
		text   string
	}{
		"": {400, "CODE_REQUIRED"}, " - ": {400, "CODE_REQUIRED"}, "wrong-222": {400, "CODE_WRONG"},
		"overdue2": {400, "expired.title"}, "locked22": {429, "locked.text"},
	} {
		w := call(t, pages, verifyPath, url.Values{"code": {code}}, "Cookie", session)
		shows(t, w, want.status, "verifyemail.confirm")
		if got := textOf(element(parse(t, w.Body.String()), "p", "id", "fault")); got != pageTexts(t, "en")[want.text] {
			t.Errorf("%q: %q", code, got)
		}
	}
	shows(t, call(t, pages, verifyPath, url.Values{"code": {"AWAY2222"}}, "Cookie", session), 503, "away")
	leads(t, call(t, pages, verifyPath+"/mail", url.Values{}, "Cookie", session), verifyPath+"?sent=true")
	if got := <-u.asked; got.Kind != "verifyemail" || got.UserId != "u1" {
		t.Errorf("users was asked %v", got)
	}
	sent := call(t, pages, verifyPath+"?sent=true", nil, "Cookie", session)
	if got := textOf(element(parse(t, sent.Body.String()), "p", "role", "status")); got !=
		pageTexts(t, "en")["verifyemail.resent.text"] {
		t.Errorf("after asking the page says %q", got)
	}
	leads(t, call(t, pages, loginPath+"continue", url.Values{}, "Cookie", session), loginPath)
	leads(t, call(t, pages, verifyPath, url.Values{"code": {"guter-kxd"}}, "Cookie", session), loginPath)
	u.verify()
	leads(t, call(t, pages, verifyPath, nil, "Cookie", session), loginPath)
	for _, path := range []string{"", "/mail"} {
		w := call(t, pages, verifyPath+path, url.Values{}, "Cookie", session, "Sec-Fetch-Site", "cross-site")
		shows(t, w, 403, "foreign")
	}
}

// verify makes the user's address a verified one.
func (u *users) verify() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.unverified = false
}
