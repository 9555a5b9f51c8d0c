package login_test

import (
	"net/url"
	"strings"
	"testing"

	"herald/services/auth/internal/testworld"
)

const (
	enrolPath = loginPath + "enrol"
	newCookie = "__Host-herald-new"
)

// Who has just activated the account is offered once to protect it, at the first login. Everybody else can do so who
// has logged in.
func TestFirstLoginOffersAnAuthenticatorApp(t *testing.T) {
	t.Parallel()
	pages, u, _ := testworld.New(t)
	done := testworld.Call(t, pages, testworld.Initialize.Path, testworld.Initialize.Filled())
	next := testworld.Page(t, done).Find("a", "href", loginPath+"back?new=true")
	if !next.Exists() {
		t.Fatalf("the last page leads nowhere: %s", done.Body)
	}
	back := testworld.Call(t, pages, loginPath+"back?new=true", nil)
	testworld.Leads(t, back, loginPath+"?other=true") // another person may be logged in here
	if !strings.Contains(strings.Join(back.Header()["Set-Cookie"], " "),
		newCookie+"=1; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("the mark is %q", back.Header()["Set-Cookie"])
	}
	in := testworld.Call(t, pages, loginPath+"password", testworld.Named("right"), "Cookie", newCookie+"=1")
	testworld.Leads(t, in, enrolPath)
	if !strings.Contains(strings.Join(in.Header()["Set-Cookie"], " "), newCookie+"=; Path=/; Max-Age=0") {
		t.Errorf("the mark stays: %q", in.Header()["Set-Cookie"])
	}
	session := testworld.Cookie(t, in, testworld.SessionCookie)
	testworld.Shows(t, testworld.Call(t, pages, enrolPath, nil, "Cookie", session), 200, "enrol")
	testworld.Shows(t, testworld.Call(t, pages, enrolPath, url.Values{}, "Cookie", session), 200, "enrolscan")
	testworld.Leads(t, testworld.Call(t, pages, loginPath+"continue", url.Values{}, "Cookie", session), loginPath)
	asked := len(u.Requests())
	for _, site := range []string{"cross-site", "same-site"} {
		w := testworld.Call(t, pages, enrolPath, url.Values{}, "Cookie", session, "Sec-Fetch-Site", site)
		testworld.Shows(t, w, 403, "foreign")
	}
	testworld.Leads(t, testworld.Call(t, pages, enrolPath, nil), loginPath)
	testworld.Leads(t, testworld.Call(t, pages, enrolPath, url.Values{}), loginPath)
	if len(u.Requests()) != asked {
		t.Error("somebody without a login begins")
	}
	u.Set(func(u *testworld.Users) { u.Own.Codes = 3 })
	testworld.Leads(t, testworld.Call(t, pages, loginPath+"password", testworld.Named("right"), "Cookie",
		newCookie+"=1"), loginPath)
	begun := testworld.Cookie(t, testworld.Call(t, pages, loginPath+"password", testworld.Named("factor")),
		testworld.LoginCookie)
	marked := begun + "; " + newCookie + "=1"
	testworld.Leads(t, testworld.Call(t, pages, loginPath+"factor", url.Values{"code": {"123456"}}, "Cookie", marked),
		loginPath)
}
