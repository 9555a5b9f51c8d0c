package login_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

const forgotPath = loginPath + "forgot"

// The answer to a forgotten password is the same for every login name, and comes before users is asked.
func TestForgottenPasswordHasTheSameAnswerForEveryName(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	pages := testworld.Open(t, g, testworld.Public)
	testworld.ServeText(t, g)
	login := testworld.Call(t, pages, loginPath, nil)
	link := testworld.Page(t, login).Find("a", "href", forgotPath)
	if link.Text() != testworld.PageTexts(t, "en")["forgot.title"] {
		t.Errorf("the login page has the link %q", link.Text())
	}
	testworld.Shows(t, testworld.Call(t, pages, forgotPath, nil), 200, "forgot")
	for _, name := range []string{
		"ada", "nobody", " a@example.com ", "", "a\x00b", "\xff", strings.Repeat("a", 401), "<script>alert(1)</script>",
	} {
		w := testworld.Call(t, pages, forgotPath, url.Values{"name": {name}}) // users is not running
		testworld.Leads(t, w, forgotPath+"/sent")
		if len(w.Result().Cookies()) != 0 {
			t.Errorf("%q sets %v", name, w.Result().Cookies())
		}
	}
	testworld.Shows(t, testworld.Call(t, pages, forgotPath+"/sent", nil), 200, "passwordreset.resent")
	for _, site := range []string{"cross-site", "same-site"} {
		testworld.Shows(t, testworld.Call(t, pages, forgotPath, url.Values{"name": {"foreign"}}, "Sec-Fetch-Site",
			site), 403, "foreign")
	}
	u := &testworld.Users{Asked: make(chan *usersv1.RequestCodeRequest)}
	testworld.ServeUsers(t, g, u)
	for _, name := range []string{"ada", "nobody", "a@example.com", "<script>alert(1)</script>"} {
		want := &usersv1.RequestCodeRequest{Kind: "passwordreset", LoginName: name}
		if got := <-u.Asked; !proto.Equal(got, want) {
			t.Errorf("users was asked %v, want %v", got, want)
		}
	}
}

// A client may ask for 60 mails a minute.
func TestForgottenPasswordsAreLimitedToSixtyAMinute(t *testing.T) {
	t.Parallel()
	pages, _, _ := testworld.New(t)
	for range 60 {
		if w := testworld.PostFrom(pages, "192.0.2.9", forgotPath,
			url.Values{"name": {"ada"}}); w.Code != http.StatusSeeOther {
			t.Fatalf("%d", w.Code)
		}
	}
	w := testworld.PostFrom(pages, "192.0.2.9", forgotPath, url.Values{"name": {"ada"}})
	testworld.Shows(t, w, 429, "away")
}

// The link of a mail leads to the login. The login is for a client's request only if the browser has one that still
// waits.
func TestMailsLeadBackToTheLogin(t *testing.T) {
	t.Parallel()
	pages, _, _ := testworld.New(t)
	done := testworld.Call(t, pages, testworld.Journeys[2].Path, testworld.Journeys[2].Filled("lang", "de"))
	next := testworld.Page(t, done).Find("a", "href", loginPath+"back?lang=de")
	if next.Text() != testworld.PageTexts(t, "de")["login.submit"] {
		t.Fatalf("the last page leads nowhere: %s", done.Body)
	}
	testworld.Leads(t, testworld.Call(t, pages, loginPath+"back?lang=de", nil), loginPath+"?lang=de")
	for _, kept := range []string{
		"", "gone", "device.gone", strings.Repeat("a", 65), "https://evil.example/", "a%00b",
	} {
		testworld.Leads(t, testworld.Call(t, pages, loginPath+"back", nil, "Cookie", "__Host-herald-request="+kept),
			loginPath)
	}
}
