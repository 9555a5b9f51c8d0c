package login_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"herald/services/auth/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

const verifyPath = loginPath + "verify"

// Who logs in with an address that was never verified can enter the code of the mail, ask for another one, or go on.
func TestLoginOffersToVerifyTheAddress(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	u := &testworld.Users{Unverified: true, Asked: make(chan *usersv1.RequestCodeRequest, 1)}
	testworld.ServeUsers(t, g, u)
	pages := testworld.Open(t, g, testworld.Public)
	for _, path := range []string{"", "/mail"} {
		testworld.Leads(t, testworld.Call(t, pages, verifyPath+path, url.Values{"code": {"GUTERKXD"}}), loginPath)
	}
	in := testworld.Call(t, pages, loginPath+"password", testworld.Named("right"))
	testworld.Leads(t, in, verifyPath)
	session := testworld.Cookie(t, in, testworld.SessionCookie)
	page := testworld.Call(t, pages, verifyPath, nil, "Cookie", session)
	testworld.Shows(t, page, 200, "verifyemail.confirm")
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
		t.Run(strconv.Quote(code), func(t *testing.T) {
			w := testworld.Call(t, pages, verifyPath, url.Values{"code": {code}}, "Cookie", session)
			testworld.Shows(t, w, want.status, "verifyemail.confirm")
			got := testworld.Page(t, w).Find("p", "id", "fault").Text()
			if got != testworld.PageTexts(t, "en")[want.text] {
				t.Errorf("the page says %q", got)
			}
		})
	}
	testworld.Shows(t, testworld.Call(t, pages, verifyPath, url.Values{"code": {"AWAY2222"}}, "Cookie", session), 503,
		"away")
	testworld.Leads(t, testworld.Call(t, pages, verifyPath+"/mail", url.Values{}, "Cookie", session),
		verifyPath+"?sent=true")
	if got := <-u.Asked; got.Kind != "verifyemail" || got.UserId != "u1" {
		t.Errorf("users was asked %v", got)
	}
	sent := testworld.Call(t, pages, verifyPath+"?sent=true", nil, "Cookie", session)
	if got := testworld.Page(t, sent).Find("p", "role", "status").Text(); got !=
		testworld.PageTexts(t, "en")["verifyemail.resent.text"] {
		t.Errorf("after asking the page says %q", got)
	}
	testworld.Leads(t, testworld.Call(t, pages, loginPath+"continue", url.Values{}, "Cookie", session), loginPath)
	testworld.Leads(t, testworld.Call(t, pages, verifyPath, url.Values{"code": {"guter-kxd"}}, "Cookie", session),
		loginPath)
	u.Set(func(u *testworld.Users) { u.Unverified = false })
	testworld.Leads(t, testworld.Call(t, pages, verifyPath, nil, "Cookie", session), loginPath)
	for _, path := range []string{"", "/mail"} {
		w := testworld.Call(t, pages, verifyPath+path, url.Values{}, "Cookie", session, "Sec-Fetch-Site", "cross-site")
		testworld.Shows(t, w, 403, "foreign")
	}
}
