package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// loginFaults are those of the real service, by the password or code that causes them here.
var loginFaults = map[string]*fault.Fault{
	"locked": fault.New(fault.Exhausted, "PASSWORD_LOCKED", "Too many wrong passwords").After(14 * time.Minute),
	"busy":   fault.ErrOverloaded.After(time.Second),
	"away":   fault.ErrUnavailable.After(time.Second),
	"broken": fault.ErrInternal,
	"odd":    fault.ErrInvalidArgument,
	"111111": fault.New(fault.Invalid, "CODE_WRONG", "The code is wrong"),
	"222222": fault.New(fault.Exhausted, "OTP_LOCKED", "Too many wrong codes").After(time.Minute),
	"333333": fault.New(fault.Precondition, "LOGIN_OVER", "The user has changed since"),
}

// subjectOf is the stand-in's only user.
func (u *users) subjectOf() *usersv1.ResolveSubjectResponse {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &usersv1.ResolveSubjectResponse{
		OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, Type: usersv1.UserType_USER_TYPE_HUMAN,
		Generation: 1 + u.changes, Credential: "password",
		Orgs: []*usersv1.SubjectOrg{{Id: "o1", State: usersv1.OrgState_ORG_STATE_ACTIVE, Generation: 1}},
		User: &usersv1.User{PreferredLoginName: "ada <b>", Type: &usersv1.User_Human{Human: &usersv1.Human{
			Email:   &usersv1.Email{Email: "<i>ada@example.com", IsEmailVerified: !u.unverified},
			Profile: &usersv1.Profile{DisplayName: `Ada "<script>alert(1)</script>`},
		}}},
	}
}

// change ends the user's logins.
func (u *users) change() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changes++
}

func (u *users) ResolveSubject(
	_ context.Context, r *usersv1.ResolveSubjectRequest,
) (*usersv1.ResolveSubjectResponse, error) {
	found := u.subjectOf()
	if strings.HasPrefix(r.Credential, "idp:") {
		found.Credential = r.Credential
	}
	return found, nil
}

func (u *users) CheckPassword(
	_ context.Context, r *usersv1.CheckPasswordRequest,
) (*usersv1.CheckPasswordResponse, error) {
	u.called(r)
	if f := loginFaults[r.Password]; f != nil {
		return nil, f
	}
	found := &usersv1.CheckPasswordResponse{
		UserId: "u1", OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, OrgActive: true,
		Generation: u.subjectOf().Generation, OrgGeneration: 1, Credential: "password",
	}
	switch r.Password {
	case "right":
	case "factor":
		found.NeedsFactor = true
	case "next":
		found.ChangeRequired = true
	case "both":
		found.NeedsFactor, found.ChangeRequired = true, true
	case "initial":
		found.State = usersv1.UserState_USER_STATE_INITIAL
	case "inactive":
		found.State = usersv1.UserState_USER_STATE_LOCKED
	case "closed":
		found.OrgActive = false
	default:
		return nil, fault.New(fault.Invalid, "LOGIN_WRONG", "The login name or the password is wrong")
	}
	return found, nil
}

func (u *users) CheckFactor(_ context.Context, r *usersv1.CheckFactorRequest) (*usersv1.CheckFactorResponse, error) {
	u.called(r)
	if f := loginFaults[r.Code]; f != nil {
		return nil, f
	}
	return &usersv1.CheckFactorResponse{}, nil
}

func (u *users) ChooseNextPassword(
	_ context.Context, r *usersv1.ChooseNextPasswordRequest,
) (*usersv1.ChooseNextPasswordResponse, error) {
	u.called(r)
	if f := faults[r.Password]; f != nil {
		return nil, f
	}
	u.change()
	return &usersv1.ChooseNextPasswordResponse{Generation: u.subjectOf().Generation}, nil
}

const (
	loginPath     = "/ui/login/"
	sessionCookie = "__Host-herald-session"
	loginCookie   = "__Host-herald-login"
)

func named(password string) url.Values { return url.Values{"name": {"ada"}, "current": {password}} }

// cookie returns a cookie that an answer sets, "" if it sets none, and checks its attributes.
func cookie(t *testing.T, w *httptest.ResponseRecorder, name string) string {
	t.Helper()
	for _, c := range w.Result().Cookies() {
		if c.Name != name || c.MaxAge < 0 {
			continue
		}
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
			len(c.Value) != 43 || c.MaxAge == 0 {
			t.Errorf("cookie %v", c)
		}
		return c.Name + "=" + c.Value
	}
	return ""
}

// shows fails the test unless an answer is the page of that name.
func shows(t *testing.T, w *httptest.ResponseRecorder, status int, name string) {
	t.Helper()
	title := textOf(element(parse(t, w.Body.String()), "h1", "", ""))
	if w.Code != status || title != pageTexts(t, "en")[name+".title"] {
		t.Errorf("%d %q, want %d %s", w.Code, title, status, name)
	}
}

// leads fails the test unless an answer leads to another page.
func leads(t *testing.T, w *httptest.ResponseRecorder, to string) {
	t.Helper()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != to {
		t.Errorf("%d to %q, want %q", w.Code, w.Header().Get("Location"), to)
	}
}

// A login gives a browser a cookie of its own, which is worth something until the logout or a change of the user.
func TestLoginAndLogout(t *testing.T) {
	t.Parallel()
	pages, u, _ := world(t)
	preset := sessionCookie + "=" + strings.Repeat("a", 43)
	shows(t, call(t, pages, loginPath, nil, "Cookie", preset), 200, "login")
	in := call(t, pages, loginPath+"password", named("right"), "Cookie", preset)
	leads(t, in, loginPath)
	session := cookie(t, in, sessionCookie)
	if session == "" || session == preset {
		t.Fatalf("the login sets %q", session)
	}
	page := call(t, pages, loginPath, nil, "Cookie", session)
	shows(t, page, 200, "session")
	if strings.Contains(page.Body.String(), "<script>") || !strings.Contains(page.Body.String(), "ada &lt;b&gt;") {
		t.Error("names are not escaped")
	}
	again := cookie(t, call(t, pages, loginPath+"password", named("right"), "Cookie", session), sessionCookie)
	if again == "" || again == session {
		t.Errorf("the second login sets %q", again)
	}
	shows(t, call(t, pages, loginPath, nil, "Cookie", session), 200, "login")
	out := call(t, pages, loginPath+"logout", url.Values{}, "Cookie", again)
	leads(t, out, loginPath+"signedout")
	if cookie(t, out, sessionCookie) != "" || !strings.Contains(fmt.Sprint(out.Header()["Set-Cookie"]), "Max-Age=0") {
		t.Errorf("the logout sets %q", out.Header()["Set-Cookie"])
	}
	shows(t, call(t, pages, loginPath, nil, "Cookie", again), 200, "login")
	third := cookie(t, call(t, pages, loginPath+"password", named("right")), sessionCookie)
	u.change()
	shows(t, call(t, pages, loginPath, nil, "Cookie", third), 200, "login")
}

// Before the second factor, and before another password, a browser has nothing that is worth anything.
func TestLoginInSteps(t *testing.T) {
	t.Parallel()
	pages, u, _ := world(t)
	factor, next := loginPath+"factor", loginPath+"next"
	in := call(t, pages, loginPath+"password", named("both"))
	leads(t, in, factor)
	begun := cookie(t, in, loginCookie)
	if cookie(t, in, sessionCookie) != "" || begun == "" {
		t.Fatalf("the password sets %q", in.Header()["Set-Cookie"])
	}
	value := strings.TrimPrefix(begun, loginCookie)
	shows(t, call(t, pages, loginPath, nil, "Cookie", sessionCookie+value), 200, "login")
	shows(t, call(t, pages, factor, nil, "Cookie", begun), 200, "factor")
	leads(t, call(t, pages, next, nil, "Cookie", begun), factor)
	good := url.Values{"password": {"Tr0ub4dor3"}, "confirmation": {"Tr0ub4dor3"}}
	leads(t, call(t, pages, next, good, "Cookie", begun), factor) // the last step first
	asked := len(u.requests())
	for _, code := range []string{"", " ", "\x00", "a\r\nb", strings.Repeat("1", 65)} {
		shows(t, call(t, pages, factor, url.Values{"code": {code}}, "Cookie", begun), 400, "factor")
	}
	shows(t, call(t, pages, factor, url.Values{"code[]": {"123456"}}, "Cookie", begun), 400, "factor")
	if len(u.requests()) != asked {
		t.Error("users was asked about a code that nobody has typed")
	}
	shows(t, call(t, pages, factor, url.Values{"code": {"111111"}}, "Cookie", begun), 400, "factor")
	shows(t, call(t, pages, factor, url.Values{"code": {"222222"}}, "Cookie", begun), 429, "loginlocked")
	leads(t, call(t, pages, factor, url.Values{"code": {"333333"}}, "Cookie", begun), loginPath)
	for _, without := range []string{"", loginCookie + "=" + strings.Repeat("b", 43)} {
		leads(t, call(t, pages, factor, url.Values{"code": {"123456"}}, "Cookie", without), loginPath)
	}
	leads(t, call(t, pages, factor, url.Values{"code": {"123456"}}, "Cookie", begun), next)
	leads(t, call(t, pages, factor, url.Values{"code": {"123456"}}, "Cookie", begun), next)
	for typed, confirmed := range map[string]string{
		"": "", "Tr0ub4dor3": "Tr0ub4dor", "short": "short", "\xff": "\xff",
	} {
		form := url.Values{"password": {typed}, "confirmation": {confirmed}}
		shows(t, call(t, pages, next, form, "Cookie", begun), 400, "newpassword")
	}
	done := call(t, pages, next, good, "Cookie", begun)
	leads(t, done, loginPath)
	session := cookie(t, done, sessionCookie)
	shows(t, call(t, pages, loginPath, nil, "Cookie", session), 200, "session")
	leads(t, call(t, pages, next, good, "Cookie", begun), loginPath) // a login makes one session
}

// What a person can do is on the page, with the right status.
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	pages, _, _ := world(t)
	for password, want := range map[string]struct {
		status int
		page   string
	}{
		"wrong": {400, "login"}, "": {400, "login"}, "\xff": {400, "login"}, "odd": {400, "login"},
		"locked": {429, "loginlocked"}, "busy": {429, "away"}, "away": {503, "away"}, "broken": {500, "failed"},
		"initial": {403, "initial"}, "inactive": {403, "inactive"}, "closed": {403, "inactive"},
	} {
		w := call(t, pages, loginPath+"password", named(password))
		shows(t, w, want.status, want.page)
		if (want.status == 429 || want.status == 503) != (w.Header().Get("Retry-After") != "") {
			t.Errorf("%s: Retry-After %q", password, w.Header().Get("Retry-After"))
		}
		if len(w.Result().Cookies()) != 0 {
			t.Errorf("%s sets %v", password, w.Result().Cookies())
		}
		if password == "locked" && !strings.Contains(w.Body.String(), "Minutes to wait: 14") {
			t.Error("the page does not say how long to wait")
		}
	}
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("a", 401), `"><script>alert(1)</script>`} {
		w := call(t, pages, loginPath+"password", url.Values{"name": {name}, "current": {"wrong"}})
		shows(t, w, 400, "login")
		if strings.Contains(w.Body.String(), "<script>") {
			t.Errorf("%q is not escaped", name)
		}
	}
	for _, id := range []string{strings.Repeat("a", 65), "%00", "%ff"} {
		shows(t, call(t, pages, loginPath+"?request="+id, nil), 400, "malformed")
	}
	shows(t, call(t, pages, loginPath+"?request=unknown", nil), 400, "requestgone")
	w := call(t, pages, loginPath+"?name=ada&current=canary", nil)
	shows(t, w, 200, "login")
	if strings.Contains(w.Body.String(), "canary") {
		t.Error("a password in the address counts")
	}
}

// No other site logs somebody in or out.
func TestForeignLogins(t *testing.T) {
	t.Parallel()
	pages, u, _ := world(t)
	session := cookie(t, call(t, pages, loginPath+"password", named("right")), sessionCookie)
	asked := len(u.requests())
	for _, path := range []string{"password", "factor", "next", "continue", "logout"} {
		for _, site := range []string{"cross-site", "same-site"} {
			w := call(t, pages, loginPath+path, named("right"), "Sec-Fetch-Site", site, "Cookie", session)
			shows(t, w, 403, "foreign")
		}
	}
	if len(u.requests()) != asked {
		t.Error("users was asked")
	}
	shows(t, call(t, pages, loginPath, nil, "Cookie", session), 200, "session")
}
