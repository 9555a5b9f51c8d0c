package login_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	"herald/shared/testkit"
)

// A browser that sends no cookies learns that before its person waits for what cannot come. Its login would be lost.
func TestBrowserWithoutCookiesLearnsIt(t *testing.T) {
	t.Parallel()
	pages, u, _ := testworld.New(t)
	form := testworld.Call(t, pages, loginPath, nil)
	cookie := form.Result().Cookies()
	if len(cookie) != 1 || cookie[0].Value != "1" || !cookie[0].Secure || !cookie[0].HttpOnly {
		t.Fatalf("the page sets %v", cookie)
	}
	again := testworld.Call(t, pages, loginPath, nil, "Cookie", cookie[0].Name+"=1")
	if got := again.Result().Cookies(); len(got) != 0 {
		t.Errorf("the page sets %v again", got)
	}
	for path, values := range map[string]url.Values{
		"password": testworld.Named("right"), "externalidp": {"idp": {"i1"}},
	} {
		for _, sent := range []string{"", "other=1"} {
			w := testworld.Call(t, pages, loginPath+path, values, "Cookie", sent)
			testworld.Shows(t, w, http.StatusBadRequest, "nocookies")
			if back := testworld.Page(t, w).Find("a", "class", "button").Attr("href"); back != loginPath {
				t.Errorf("the page leads to %q", back)
			}
		}
	}
	if asked := u.Requests(); len(asked) != 0 {
		t.Errorf("users was asked %v", asked)
	}
	testworld.Leads(t, testworld.Call(t, pages, loginPath+"password", testworld.Named("right"), "Cookie",
		cookie[0].Name+"=1"), loginPath)
}

// Whoever goes back to the page of a login that is done learns that, and gets to the account. Somebody who has not
// logged in learns that the page was open for too long.
func TestPageOfADoneLoginSaysSo(t *testing.T) {
	t.Parallel()
	pages, _, _ := testworld.New(t)
	session := testworld.Cookie(t, testworld.Call(t, pages, loginPath+"password", testworld.Named("right")),
		testworld.SessionCookie)
	form := testworld.Named("right")
	form.Set("request", "used")
	for _, w := range []*httptest.ResponseRecorder{
		testworld.Call(t, pages, loginPath+"?request=used&lang=en", nil, "Cookie", session),
		testworld.Call(t, pages, loginPath+"password", form, "Cookie", session),
	} {
		testworld.Shows(t, w, http.StatusBadRequest, "requestused")
		to := testworld.Page(t, w).Find("a", "class", "button").Attr("href")
		if path, _, _ := strings.Cut(to, "?"); path != domain.AccountPath {
			t.Errorf("the page leads to %q", to)
		}
	}
	testworld.Shows(t, testworld.Call(t, pages, loginPath+"password", form), http.StatusBadRequest, "requestgone")
}

// A step of a login that is sent after ten minutes says that it took too long, and leads to the beginning.
func TestStepAfterTenMinutesSaysThatItTookTooLong(t *testing.T) {
	t.Parallel()
	clock := &testkit.Clock{}
	b := testworld.NewBrowsersAt(t, clock.Now)
	begun := testworld.Cookie(t, testworld.Call(t, b.Pages, loginPath+"password", testworld.Named("factor")),
		testworld.LoginCookie)
	clock.Advance(domain.LoginLifetime + time.Second)
	w := testworld.Call(t, b.Pages, loginPath+"factor", url.Values{"code": {"123456"}}, "Cookie", begun)
	testworld.Shows(t, w, http.StatusBadRequest, "loginover")
	if back := testworld.Page(t, w).Find("a", "class", "button").Attr("href"); back != loginPath {
		t.Errorf("the page leads to %q", back)
	}
}

// The page of a pause, which answers a form, can be read in another language. After the pause it leads to the login.
func TestPauseIsReadInAnotherLanguage(t *testing.T) {
	t.Parallel()
	clock := &testkit.Clock{}
	clock.Stop()
	b := testworld.NewBrowsersAt(t, clock.Now)
	w := testworld.Call(t, b.Pages, loginPath+"password", testworld.Named("locked"))
	testworld.Shows(t, w, http.StatusTooManyRequests, "loginlocked")
	german := testworld.Page(t, w).Find("a", "lang", "de").Attr("href")
	read := testworld.Call(t, b.Pages, german, nil)
	texts, title := testworld.PageTexts(t, "de"), testworld.Page(t, read).Find("h1").Text()
	if read.Code != http.StatusTooManyRequests || title != texts["loginlocked.title"] ||
		!strings.Contains(read.Body.String(), texts["loginlocked.minutes"]+" 14") ||
		read.Header().Get("Retry-After") == "" {
		t.Errorf("%s: %d %s", german, read.Code, read.Body)
	}
	clock.Advance(15 * time.Minute)
	testworld.Leads(t, testworld.Call(t, b.Pages, german, nil), loginPath+"?lang=de")
	for _, until := range []string{"", "x", "-1", "99999999999999999999", "9223372036854775807"} {
		testworld.Leads(t, testworld.Call(t, b.Pages, loginPath+"pause?until="+until, nil), loginPath)
	}
}
