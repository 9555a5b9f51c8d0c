package account_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	"herald/shared/caller"
	"herald/shared/eventcache"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// accountPages are the pages of an account with what may be posted to them; nil if nothing may. Those that are fresh
// need a login that is at most ten minutes old.
var accountPages = []struct {
	path  string
	fresh bool
	form  url.Values
}{
	{"", false, nil},
	{"/profile", false, url.Values{"firstName": {"Ada"}, "lastName": {"Lovelace"}}},
	{"/password", true, url.Values{
		"current": {"right"}, "password": {"Tr0ub4dor3"}, "confirmation": {"Tr0ub4dor3"},
	}},
	{"/email", false, url.Values{"code": {"GUTERKXD"}}},
	{"/email/change", true, url.Values{"email": {"king@example.com"}}},
	{"/email/cancel", true, url.Values{}},
	{"/otp", false, nil},
	{"/otp/add", false, url.Values{}},
	{"/otp/end", true, url.Values{}},
	{"/otp/codes", true, url.Values{}},
	{"/tokens", false, nil},
	{"/tokens/new", true, url.Values{"until": {"2999-12-31"}}},
	{"/tokens/end", true, url.Values{"id": {"x"}}},
	{"/idplinks", false, nil},
	{"/idplinks/end", true, url.Values{"id": {"x"}}},
	{"/idplinks/add", true, url.Values{"id": {"x"}}},
	{"/access", false, nil},
	{"/access/end", false, url.Values{"id": {"x"}}},
	{"/sessions", false, nil},
	{"/sessions/end", true, url.Values{"id": {"x"}}},
	{"/sessions/others", true, url.Values{}},
	{"/memberships", false, nil},
	{"/memberships/accept", false, url.Values{"id": {"x"}}},
	{"/memberships/decline", false, url.Values{"id": {"x"}}},
	{"/memberships/end", false, url.Values{"id": {"x"}}},
}

// account is a person with a browser at the pages of their account.
type account struct {
	testworld.Browsers
	*testkit.Clock
}

func newAccount(t *testing.T) account {
	t.Helper()
	clock := &testkit.Clock{}
	a := account{testworld.NewBrowsersAt(t, clock.Now), clock}
	a.Users.Own.Profile = &usersv1.Profile{FirstName: "Ada", LastName: "Lovelace", DisplayName: "Ada Lovelace",
		NickName: "ada"}
	testworld.ServeApplications(t, a.Ground)
	return a
}

// open opens one of the pages in a browser with a cookie.
func (a account) open(session, page string) *httptest.ResponseRecorder {
	a.Helper()
	return testworld.Call(a.T, a.Pages, accountPath+page, nil, "Cookie", session)
}

// send posts a form to one of the pages.
func (a account) send(session, page string, values ...string) *httptest.ResponseRecorder {
	a.Helper()
	form := url.Values{}
	for i := 0; i < len(values); i += 2 {
		form.Set(values[i], values[i+1])
	}
	return testworld.Call(a.T, a.Pages, accountPath+page, form, "Cookie", session)
}

// foreignSession makes a session of another user.
func (a account) foreignSession(id string) {
	a.Helper()
	now := time.Now()
	err := a.Store.AddSession(a.Context(), secret.Hash(id), domain.Session{ID: id, UserID: "u2", UserGeneration: 1,
		OrgID: "o1", OrgGeneration: 1, AMR: []string{}, AuthTime: now, CreatedAt: now, UsedAt: now,
		ExpiresAt: now.Add(time.Hour)})
	if err != nil {
		a.Fatal(err)
	}
}

// sameAsMissing fails the test unless a page answers for the id of somebody else's object as for one that is not there.
func (a account) sameAsMissing(session, page, name, foreign string) {
	a.Helper()
	for _, ask := range []func(id string) *httptest.ResponseRecorder{
		func(id string) *httptest.ResponseRecorder {
			return a.open(session, page+"?"+url.Values{name: {id}}.Encode())
		},
		func(id string) *httptest.ResponseRecorder { return a.send(session, page, name, id) },
	} {
		got, missing := ask(foreign), ask("missing")
		testworld.Shows(a.T, got, 404, "accountgone")
		for _, w := range []*httptest.ResponseRecorder{got, missing} {
			w.Body = bytes.NewBufferString(regexp.MustCompile(`href="[^"]*"`).ReplaceAllString(w.Body.String(), ""))
		}
		if got.Code != missing.Code || got.Body.String() != missing.Body.String() {
			a.Errorf("%s of %q: %d\n%s\nof a missing one: %d\n%s", page, foreign, got.Code, got.Body,
				missing.Code, missing.Body)
		}
	}
}

// A person who is not logged in, or has changed since the login, is sent to a login and can do nothing.
func TestAccountPagesRedirectToTheLogin(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	a.Users.Own.Gone = true
	before := len(a.Users.Requests())
	for _, cookie := range []string{"", testworld.SessionCookie + "=" + strings.Repeat("a", 43), session} {
		for _, page := range accountPages {
			testworld.Leads(t, a.open(cookie, page.path), testworld.ToLogin(page.path))
			if page.form != nil {
				a.lost(page.path, testworld.Call(t, a.Pages, accountPath+page.path, page.form, "Cookie", cookie))
			}
		}
	}
	if asked := a.Users.Requests(); len(asked) != before {
		t.Errorf("users was asked %v", asked[before:])
	}
	testworld.Leads(t, a.open("", "/"), accountPath)
}

// lost fails the test unless the answer to a form says that nothing was changed, and leads to a login for the page.
func (a account) lost(page string, w *httptest.ResponseRecorder) {
	a.Helper()
	testworld.Shows(a.T, w, 403, "formold")
	if to := testworld.Page(a.T, w).Find("a", "class", "button").Attr("href"); !strings.HasPrefix(to,
		testworld.ToLogin(page)) {
		a.Errorf("the answer to a form of %s leads to %q", page, to)
	}
}

// A login leads back to the page for which it was asked, and nowhere else.
func TestLoginReturnsOnlyToAccountPages(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for request, want := range map[string]string{
		"account.": accountPath, "account.profile": accountPath + "/profile",
		"account.sessions/end.s1":             accountPath + "/sessions/end?id=s1",
		"account.profile.//evil.example":      accountPath + "/profile?id=%2F%2Fevil.example",
		"account.profile.x&id=y#z?":           accountPath + "/profile?id=x%26id%3Dy%23z%3F",
		"account.sessions/end.https://a.test": accountPath + "/sessions/end?id=https%3A%2F%2Fa.test",
	} {
		form := testworld.Named("right")
		form.Set("request", request)
		testworld.Leads(t, testworld.Call(t, a.Pages, testworld.LoginPath+"password", form), want)
		form.Set("lang", "de")
		if w := testworld.Call(t, a.Pages, testworld.LoginPath+"password",
			form); !strings.Contains(w.Header().Get("Location"), "lang=de") {
			t.Errorf("%s: %q forgets the language", request, w.Header().Get("Location"))
		}
	}
	for _, request := range []string{
		"account", "account.nowhere", "account.//evil.example", "account.https://evil.example", "account.profile/",
		"account.Profile", "account.sessions/end/..",
	} {
		testworld.Shows(t, testworld.Call(t, a.Pages, testworld.LoginPath+"?request="+url.QueryEscape(request), nil),
			400, "requestgone")
		form := testworld.Named("right")
		form.Set("request", request)
		w := testworld.Call(t, a.Pages, testworld.LoginPath+"password", form)
		if w.Code != 400 || w.Header().Get("Location") != "" {
			t.Errorf("%s: %d to %q", request, w.Code, w.Header().Get("Location"))
		}
	}
}

// A page that changes how a person logs in needs a login that is at most ten minutes old, and that login leads back to
// the page.
func TestChangeOfALoginNeedsAFreshLogin(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	a.Advance(10*time.Minute + time.Second)
	before := len(a.Users.Requests())
	for _, page := range accountPages {
		w := a.open(session, page.path)
		if stale := w.Header().Get("Location") == testworld.ToLogin(page.path); stale != page.fresh {
			t.Errorf("%s: %d to %q", page.path, w.Code, w.Header().Get("Location"))
		}
		if !page.fresh {
			continue
		}
		a.lost(page.path, testworld.Call(t, a.Pages, accountPath+page.path, page.form, "Cookie", session))
	}
	for _, r := range a.Users.Requests()[before:] {
		switch r.(type) {
		case *usersv1.GetMyUserRequest, *usersv1.SearchMyPersonalAccessTokensRequest, *usersv1.SearchMyIdpLinksRequest,
			*usersv1.SearchMyMembershipsRequest:
		default:
			t.Errorf("users was asked %v", r)
		}
	}
	again := testworld.Call(t, a.Pages, testworld.ToLogin("/password"), nil, "Cookie", session)
	testworld.Shows(t, again, 200, "login")
	if name := testworld.Page(t, again).Find("input", "id", "name").Attr("value"); name != "ada <b>" {
		t.Errorf("the login asks for %q", name)
	}
	form := testworld.Named("right")
	form.Set("request", "account.password")
	in := testworld.Call(t, a.Pages, testworld.LoginPath+"password", form, "Cookie", session)
	testworld.Leads(t, in, accountPath+"/password")
	testworld.Shows(t, a.open(testworld.Cookie(t, in, testworld.SessionCookie), "/password"), 200, "changepassword")
}

// No other site changes an account.
func TestOtherSitesCannotChangeAnAccount(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	before := len(a.Users.Requests())
	for _, page := range accountPages {
		if page.form == nil {
			continue
		}
		for _, from := range [][2]string{{"cross-site", "https://evil.example"}, {"same-site", ""}, {"", "null"}} {
			w := testworld.Call(t, a.Pages, accountPath+page.path, page.form, "Cookie", session, "Sec-Fetch-Site",
				from[0],
				"Origin", from[1])
			testworld.Shows(t, w, 403, "foreign")
		}
	}
	if asked := a.Users.Requests(); len(asked) != before || len(a.List("u1", nil).Result) != 1 {
		t.Errorf("users was asked %v", asked[before:])
	}
}

// The pages call the API as the person, with the time of the login, and without any role.
func TestPagesCallTheAPIAsThePersonWithoutRoles(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	testworld.Shows(t, a.open(session, ""), 200, "account")
	testworld.Shows(t, a.open(session, "/profile"), 200, "profile")
	if len(a.Users.Own.Callers) != 3 {
		t.Fatal(a.Users.Own.Callers)
	}
	want := caller.Caller{UserID: "u1", OrganizationID: "o1", HomeOrganizationID: "o1", Credential: "password",
		Scopes: []string{"openid", "urn:service:iam:org:project:id:service:aud"}}
	for _, c := range a.Users.Own.Callers {
		if time.Since(c.AuthenticatedAt) > time.Minute {
			t.Errorf("the login was at %v", c.AuthenticatedAt)
		}
		c.AuthenticatedAt = time.Time{}
		if !reflect.DeepEqual(c, want) {
			t.Errorf("got %+v, want %+v", c, want)
		}
	}
}

func TestPeopleChangeTheirProfile(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	filled := []string{"firstName", " Augusta ", "lastName", "King", "nickName", "", "displayName", "A. K.",
		"preferredLanguage", "sv", "gender", "GENDER_FEMALE", "lang", "de"}
	testworld.Leads(t, a.send(session, "/profile", filled...), accountPath+"/profile?done=true&lang=de")
	want := &usersv1.Profile{FirstName: "Augusta", LastName: "King", DisplayName: "A. K.", PreferredLanguage: "sv",
		Gender: usersv1.Gender_GENDER_FEMALE}
	if !proto.Equal(a.Users.Own.Profile, want) {
		t.Errorf("the profile is %v", a.Users.Own.Profile)
	}
	root := testworld.Page(t, a.open(session, "/profile?done=true"))
	for id, value := range map[string]string{"firstName": "Augusta", "nickName": "", "displayName": "A. K."} {
		if got := root.Find("input", "id", id).Attr("value"); got != value {
			t.Errorf("%s shows %q", id, got)
		}
	}
	if got := root.Find("p", "role", "status").Text(); got != testworld.PageTexts(t, "en")["account.done"] {
		t.Errorf("the page says %q", got)
	}
	for _, chosen := range []string{"sv", "GENDER_FEMALE"} {
		if !root.Find("option", "value", chosen).Has("selected") {
			t.Errorf("%s is not chosen", chosen)
		}
	}
	for name, value := range map[string]string{
		"firstName": " ", "lastName": strings.Repeat("a", 201), "nickName": "a\u200bb", "displayName": "\x00",
		"preferredLanguage": strings.Repeat("a", 36),
	} {
		w := a.send(session, "/profile", append(slices.Clone(filled[:12]), name, value)...)
		testworld.Shows(t, w, 400, "profile")
		if !testworld.Page(t, w).Find("p", "id", name+"-fault").Exists() {
			t.Errorf("%s: the page does not say what is wrong", name)
		}
	}
	if !proto.Equal(a.Users.Own.Profile, want) {
		t.Errorf("the profile became %v", a.Users.Own.Profile)
	}
}

// A display name that nobody has chosen is empty in the form, so that it follows the other names when they change.
func TestDerivedDisplayNameIsEmptyInTheForm(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	for _, test := range []struct {
		language, display, shown string
	}{
		{"", "Ada Lovelace", ""}, {"hu", "Lovelace Ada", ""}, {"hu", "Ada Lovelace", "Ada Lovelace"},
		{"", "Ada", "Ada"},
	} {
		t.Run(test.display+" "+test.language, func(t *testing.T) {
			a.Users.Own.Profile = &usersv1.Profile{FirstName: "Ada", LastName: "Lovelace", DisplayName: test.display,
				PreferredLanguage: test.language}
			root := testworld.Page(t, a.open(session, "/profile"))
			if got := root.Find("input", "id", "displayName").Attr("value"); got != test.shown {
				t.Errorf("the form has %q, want %q", got, test.shown)
			}
		})
	}
}

// What people call themselves is text, wherever it is shown.
func TestProfileIsShownAsText(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	for _, page := range []string{"", "/profile"} {
		a.Users.Own.Profile = &usersv1.Profile{PreferredLanguage: "x"}
		plain := testworld.Shape(testworld.Page(t, a.open(session, page)))
		for _, p := range testworld.Payloads() {
			a.Users.Own.Profile = &usersv1.Profile{FirstName: p, LastName: p, NickName: p, DisplayName: p,
				PreferredLanguage: p}
			w := a.open(session, page)
			if got := testworld.Shape(testworld.Page(t, w)); !slices.Equal(got, plain) {
				t.Fatalf("%q makes\n%q\nof\n%q", p, got, plain)
			}
			testworld.CheckHeaders(t, w)
		}
	}
}

func TestChangedPasswordEndsOtherSessions(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session, other := a.Login("here"), a.Login("elsewhere")
	name := testworld.Page(t, a.open(session, "/password")).Find("input", "name", "username")
	if name.Attr("autocomplete") != "username" || name.Attr("value") == "" {
		t.Errorf("a password manager learns the login name %q", name.Attr("value"))
	}
	for _, test := range []struct {
		old, chosen, confirmed, field string
	}{
		{"", "Tr0ub4dor3", "Tr0ub4dor3", "current"}, {"\xff", "Tr0ub4dor3", "Tr0ub4dor3", "current"},
		{"wrong", "Tr0ub4dor3", "Tr0ub4dor3", "current"}, {"right", "", "", "password"},
		{"right", "\xff", "\xff", "password"}, {"right", "short", "short", "password"},
		{"right", "Tr0ub4dor3", "Tr0ub4dor", "confirmation"},
	} {
		t.Run(fmt.Sprintf("%q", test), func(t *testing.T) {
			w := a.send(session, "/password", "current", test.old, "password", test.chosen, "confirmation",
				test.confirmed)
			testworld.Shows(t, w, 400, "changepassword")
			if !testworld.Page(t, w).Find("p", "id", test.field+"-fault").Exists() {
				t.Errorf("%s is not wrong", test.field)
			}
			if strings.Contains(w.Body.String(), "Tr0ub4dor") {
				t.Errorf("%q: the page has a password", test)
			}
		})
	}
	w := a.send(session, "/password", "current", "locked", "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3")
	testworld.Shows(t, w, 429, "loginlocked")
	testworld.Shows(t, a.open(other, ""), 200, "account")
	w = a.send(session, "/password", "current", "right", "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3")
	testworld.Leads(t, w, accountPath+"?done=true")
	a.Advance(eventcache.MaxAge) // the stand-in of users publishes no event
	kept := testworld.Cookie(t, w, testworld.SessionCookie)
	testworld.Shows(t, a.open(kept, ""), 200, "account")
	for name, dead := range map[string]string{"the old cookie": session, "the other browser": other} {
		if w := a.open(dead, ""); w.Code != http.StatusSeeOther {
			t.Errorf("%s is worth something: %d", name, w.Code)
		}
	}
	if got := testworld.Agents(a.List("u1", nil)); !slices.Equal(got, []string{"here"}) {
		t.Errorf("left are %q", got)
	}
}

// If something else has ended the logins at the same time, the change of the password revives none.
func TestChangedPasswordDoesNotReviveASessionThatEndedOtherwise(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	session := a.Login("here")
	a.Users.Own.Also = true
	w := a.send(session, "/password", "current", "right", "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3")
	testworld.Leads(t, w, accountPath+"?done=true")
	if testworld.Cookie(t, w, testworld.SessionCookie) != "" || a.open(session, "").Code != http.StatusSeeOther {
		t.Error("the browser is still logged in")
	}
}

// People see where they are logged in, and end what is theirs and nothing else.
func TestPeopleEndOnlyTheirOwnSessions(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	session, lost, third := a.Login(firefox), a.Login(`"><script>alert(1)</script>`), a.Login("third")
	page := a.open(session, "/sessions")
	testworld.Shows(t, page, 200, "sessions")
	if body := page.Body.String(); strings.Contains(body, "<script>") || strings.Count(body, "sessions/end") != 2 ||
		!strings.Contains(body, "Firefox, Linux") || !strings.Contains(body, "third") ||
		strings.Count(body, "With a password") != 3 || strings.Contains(body, "With a security code") {
		t.Error(body)
	}
	ids := map[string]string{}
	for _, s := range a.List("u1", nil).Result {
		ids[s.UserAgent] = s.Id
	}
	a.foreignSession("of-u2")
	a.sameAsMissing(session, "/sessions/end", "id", "of-u2")
	a.sameAsMissing(session, "/sessions/end", "id", "")
	if len(a.List("u2", nil).Result) != 1 {
		t.Fatal("somebody else's session has ended")
	}
	id := ids[`"><script>alert(1)</script>`]
	testworld.Shows(t, a.open(session, "/sessions/end?id="+id), 200, "sessionend")
	testworld.Leads(t, a.send(session, "/sessions/end", "id", id), accountPath+"/sessions?done=true")
	testworld.Shows(t, a.send(session, "/sessions/end", "id", id), 404, "accountgone")
	if a.open(lost, "").Code != http.StatusSeeOther || a.open(third, "").Code != 200 {
		t.Error("the wrong session has ended")
	}
	testworld.Shows(t, a.open(session, "/sessions/others"), 200, "sessionsend")
	testworld.Leads(t, a.send(session, "/sessions/others"), accountPath+"/sessions?done=true")
	if a.open(third, "").Code != http.StatusSeeOther || len(a.List("u2", nil).Result) != 1 {
		t.Error("the wrong sessions have ended")
	}
	if body := a.open(session, "/sessions").Body.String(); strings.Contains(body, "sessions/others") {
		t.Error("a browser that is alone can end others")
	}
}
