package endsession_test

import (
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/endsession"
	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

const (
	bye = "https://app.example/bye"
	// tenant is a registered address with a query.
	tenant = "https://app.example/bye?tenant=1"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// newWorld returns the service with applications to which people may come back, and an id token of Ada for web.
func newWorld(t *testing.T) (w *testworld.OAuth, hint string) {
	t.Helper()
	w = testworld.NewOAuth(t)
	w.Change(func() {
		for _, app := range w.Apps {
			app.App.GetOidcConfig().PostLogoutRedirectUris = []string{bye, tenant}
		}
	})
	return w, w.LoggedIn().Text("id_token")
}

// query returns the parameters of a logout.
func query(parameters ...string) string {
	values := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		values.Add(parameters[i], parameters[i+1])
	}
	return values.Encode()
}

// loggedIn reports whether an application would get a code without a page.
func loggedIn(w *testworld.OAuth) bool {
	w.Helper()
	return w.Back(w.Ask("prompt", "none")).Get("code") != ""
}

// An application that names the person who is logged in ends the login, and the person comes back (sections 2 and 3).
func TestHintOfPersonEndsLogin(t *testing.T) {
	t.Parallel()
	w, hint := newWorld(t)
	for name, test := range map[string]struct{ query, to string }{
		"hint alone":          {query("id_token_hint", hint), domain.SignedOutPath},
		"back to application": {query("id_token_hint", hint, "post_logout_redirect_uri", bye), bye},
		"back with state": {query("id_token_hint", hint, "post_logout_redirect_uri", bye, "state", "s&t"),
			bye + "?state=s%26t"},
		"state behind a query": {query("id_token_hint", hint, "post_logout_redirect_uri", tenant, "state", "s"),
			tenant + "&state=s"},
		"state for nobody":   {query("id_token_hint", hint, "state", "s"), domain.SignedOutPath},
		"the client as well": {query("id_token_hint", hint, "client_id", "web", "post_logout_redirect_uri", bye), bye},
		"logout_hint":        {query("id_token_hint", hint, "logout_hint", "somebody else"), domain.SignedOutPath},
	} {
		w.Run(name, func() {
			w.Login()
			got := w.Visit("GET", endsession.Path+"?"+test.query, nil)
			if got.Code != 303 || got.Header().Get("Location") != test.to {
				w.Errorf("%d %s, want %s", got.Code, got.Header().Get("Location"), test.to)
			}
			if loggedIn(w) {
				w.Error("the person is still logged in")
			}
		})
	}
}

// An id token that has expired still names the person.
func TestExpiredHintCounts(t *testing.T) {
	t.Parallel()
	w, hint := newWorld(t)
	w.Advance(2 * time.Hour)
	w.Login()
	if got := w.Visit("GET", endsession.Path+"?"+query("id_token_hint", hint), nil); got.Code != 303 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// Any site can send a browser to the endpoint, so the person is asked first.
func TestPersonIsAskedFirst(t *testing.T) {
	t.Parallel()
	w, hint := newWorld(t)
	for name, test := range map[string]struct{ userID, query string }{
		"no hint":              {"ada", query("client_id", "web", "post_logout_redirect_uri", bye)},
		"no parameter":         {"ada", ""},
		"hint of another user": {"bob", query("id_token_hint", hint, "post_logout_redirect_uri", bye)},
	} {
		w.Run(name, func() {
			w.LoginAs("s-"+test.userID, test.userID)
			asked := w.Visit("GET", endsession.Path+"?"+test.query, nil)
			if asked.Code != 200 || !strings.Contains(asked.Body.String(), "<form") || !loggedIn(w) {
				w.Fatalf("%d %s", asked.Code, asked.Body)
			}
			if strings.Contains(asked.Body.String(), hint) {
				w.Error("the page contains the id token of another person")
			}
		})
	}
}

// agreedPath is where the form of the page goes.
const agreedPath = testworld.LoginPath + "endsession"

// A person who agrees is logged out and comes back. Another site cannot agree for the person.
func TestOnlyPersonAgrees(t *testing.T) {
	t.Parallel()
	w, _ := newWorld(t)
	form := url.Values{"client_id": {"web"}, "post_logout_redirect_uri": {bye}, "state": {"s"}}
	agree := func(site string) *httptest.ResponseRecorder {
		return w.Visit("POST", agreedPath, form, "Sec-Fetch-Site", site)
	}
	if got := agree("cross-site"); got.Code != 403 || !loggedIn(w) {
		t.Errorf("from another site: %d", got.Code)
	}
	got := agree("same-origin")
	if got.Code != 200 || testworld.To(got) != bye+"?state=s" || loggedIn(w) {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	w.Login()
	form.Set("post_logout_redirect_uri", "https://evil.example")
	if got := agree("same-origin"); got.Code != 400 || got.Header().Get("Location") != "" || !loggedIn(w) {
		t.Errorf("an address that is not registered: %d %v", got.Code, got.Header())
	}
}

// A refused request shows a page, leads nowhere and ends nothing.
func TestRefusedLogoutEndsNothing(t *testing.T) {
	t.Parallel()
	w, hint := newWorld(t)
	w.Change(func() {
		w.Apps["other"].App.State = projectsv1.AppState_APP_STATE_INACTIVE
	})
	for name, query := range map[string]string{
		"address that is not registered": query("id_token_hint", hint, "post_logout_redirect_uri", bye+"/"),
		"address in another case": query("id_token_hint", hint,
			"post_logout_redirect_uri", "https://APP.example/bye"),
		"address of nobody":              query("post_logout_redirect_uri", bye),
		"application that is not active": query("client_id", "other", "post_logout_redirect_uri", bye),
		"unknown application":            query("client_id", "nobody"),
		"hint of another client":         query("id_token_hint", hint, "client_id", "spa"),
		"hint of nobody":                 query("id_token_hint", "e30.e30.e30"),
		"hint twice":                     query("id_token_hint", hint, "id_token_hint", hint),
		"state with a line break":        query("id_token_hint", hint, "state", "a\nb"),
		"query that cannot be read":      "a=%zz",
	} {
		w.Run(name, func() {
			got := w.Visit("GET", endsession.Path+"?"+query, nil)
			if got.Code != 400 || got.Header().Get("Location") != "" {
				w.Errorf("%d %v", got.Code, got.Header())
			}
			if !loggedIn(w) {
				w.Error("the person is logged out")
			}
		})
	}
}

// The parameters may come in a form, from any site (section 2).
func TestFormIsTakenAsQuery(t *testing.T) {
	t.Parallel()
	w, hint := newWorld(t)
	form := url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {bye}}
	got := w.Visit("POST", endsession.Path, form, "Sec-Fetch-Site", "cross-site")
	if got.Code != 303 || !strings.HasPrefix(got.Header().Get("Location"), endsession.Path+"?") {
		t.Fatalf("%d %v", got.Code, got.Header())
	}
	form.Set("state", strings.Repeat("s", 12<<10))
	if got := w.Visit("POST", endsession.Path, form); got.Code != 400 || !loggedIn(w) {
		t.Errorf("a form that is too large: %d", got.Code)
	}
}
