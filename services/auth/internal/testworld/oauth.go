package testworld

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/auth"
	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/store"
	"herald/shared/boot"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

const (
	// Callback is a redirect URI of the applications.
	Callback = "https://app.example/cb"
	// Challenge is the code challenge of RFC 7636 appendix B.
	Challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	// Verifier is the code verifier of Challenge.
	Verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

	authorizePath = "/oauth/v2/authorize"
)

// OAuth is the running service with applications and a browser, in which Ada has logged in. Its clock stands still.
type OAuth struct {
	testing.TB
	*Others
	*testkit.Clock
	// Pages answers browsers, Programs the clients.
	Pages, Programs http.Handler
	Store           store.Store
	DB              *pgxpool.Pool
	Keys            *signing.Keys
	Lines           *testkit.Lines

	cookie  string
	gateway authv1.AuthClient
}

// NewOAuth runs the service.
func NewOAuth(t *testing.T) *OAuth {
	t.Helper()
	clock := testkit.ClockAt(time.Now().Truncate(time.Second))
	w := &OAuth{TB: t, Others: NewOthers(), Clock: clock, Lines: &testkit.Lines{}}
	g := testkit.Logged(t, testkit.Ground(t), 0, w.Lines)
	g.Now = w.Now
	address, err := boot.ParsePublicURL(Public)
	w.Must(err)
	g.PublicURL = address
	s := Kit.Open(t, g)
	ShareKeys(t, s)
	w.Must(auth.New(t.Context(), s, Config()))
	testkit.Run(t, s)
	ServeProjects(t, g, w.Others)
	testkit.Serve(t, g, "users", people{Others: w.Others}, &usersv1.Internal_ServiceDesc)
	ServeText(t, g)
	edge := NewEdge(t, g)
	w.Pages, w.Programs, w.Store, w.DB = edge, http.HandlerFunc(edge.ServeProgram), store.New(s.Journal), s.DB
	w.gateway = edge.Auth
	w.Keys, err = signing.Open(t.Context(), signing.Config{
		Store: w.Store, Sealing: s.Keys, Now: w.Now, Log: s.Log,
	})
	w.Must(err)
	w.Login()
	return w
}

// Run runs a part of a test, which reports its failures under its own name.
func (w *OAuth) Run(name string, part func()) {
	whole, _ := w.TB.(*testing.T)
	whole.Run(name, func(t *testing.T) {
		w.TB = t
		defer func() { w.TB = whole }()
		part()
	})
}

// Must fails the test after an error.
func (w *OAuth) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Change changes what the stand-ins have, and passes the two seconds for which answers are cached.
func (w *OAuth) Change(f func()) {
	w.Others.mu.Lock()
	defer w.Others.mu.Unlock()
	f()
	w.Advance(2 * time.Second)
}

// Login logs Ada in now.
func (w *OAuth) Login() { w.LoginAs("s1", "ada") }

// LoginAs logs a user in now, with a session of that id.
func (w *OAuth) LoginAs(sessionID, userID string) {
	w.Helper()
	l := domain.Login{UserID: userID, UserGeneration: 5, OrgID: "o1", OrgGeneration: 1, AuthTime: w.Now(),
		AMR: []string{"pwd"}, Credential: "password"}
	w.cookie = secret.RandomString(43)
	w.Must(w.Store.AddSession(w.Context(), secret.Hash(w.cookie), l.Session(sessionID, "", "", w.Now())))
}

// Logout removes the cookie of the browser's login.
func (w *OAuth) Logout() { w.cookie = "" }

// Cookie returns the browser's header Cookie.
func (w *OAuth) Cookie() string { return SessionCookie + "=" + w.cookie }

// Caller returns who the gateway takes for the caller with an access token.
func (w *OAuth) Caller(token string) caller.Caller {
	w.Helper()
	r, err := w.gateway.ResolveToken(w.Context(), &authv1.ResolveTokenRequest{
		Token: &authv1.ResolveTokenRequest_TokenHash{TokenHash: secret.Hash(token)},
	})
	w.Must(err)
	return caller.FromProto(r.Caller)
}

// Query returns good parameters of the application web, with changes: an empty value removes one.
func Query(changes ...string) url.Values {
	q := url.Values{
		"client_id": {"web"}, "redirect_uri": {Callback}, "response_type": {"code"}, "scope": {"openid offline_access"},
		"state": {"st"}, "nonce": {"no"}, "code_challenge": {Challenge}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

// Ask sends the browser to the authorization endpoint as an application does.
func (w *OAuth) Ask(changes ...string) *httptest.ResponseRecorder {
	w.Helper()
	return w.Visit("GET", authorizePath+"?"+Query(changes...).Encode(), nil)
}

// Visit sends a request of the browser.
func (w *OAuth) Visit(method, uri string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequest(method, uri, strings.NewReader(form.Encode()))
	r.Header.Set("Cookie", w.Cookie())
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.Pages.ServeHTTP(out, r)
	return out
}

// Waiting returns the id of the stored request for which an answer sends the person to the login pages.
func (w *OAuth) Waiting(out *httptest.ResponseRecorder) string {
	w.Helper()
	id, ok := strings.CutPrefix(out.Header().Get("Location"), LoginPath+"?request=")
	if !ok || out.Code != http.StatusSeeOther || len(id) < 22 {
		w.Fatalf("%d %v", out.Code, out.Header())
	}
	return id
}

// Finish continues with a stored request as the person who has logged in.
func (w *OAuth) Finish(id string) *httptest.ResponseRecorder {
	w.Helper()
	return w.Visit("POST", LoginPath+"continue", url.Values{"request": {id}}, "Sec-Fetch-Site", "same-origin")
}

// Back returns what the client gets when the browser goes on to its address.
func (w *OAuth) Back(out *httptest.ResponseRecorder) url.Values {
	w.Helper()
	to, query, _ := strings.Cut(To(out), "?")
	values, err := url.ParseQuery(query)
	if to != Callback || err != nil || values.Get("iss") != Public ||
		out.Header().Get("Cache-Control") != "no-store" {
		w.Fatalf("%d %s %v\n%s", out.Code, out.Header(), err, out.Body)
	}
	return values
}

// Code returns the code for a request that is answered at once.
func (w *OAuth) Code(changes ...string) string {
	w.Helper()
	values := w.Back(w.Ask(changes...))
	if !secret.AuthorizationCode.WellFormed(values.Get("code")) || len(values) != 3 {
		w.Fatalf("%v", values)
	}
	return values.Get("code")
}

// Answer is a response of an endpoint for programs.
type Answer struct {
	Status int
	Header http.Header
	Body   map[string]any
}

// Text returns a member of the body; "" if it is no text.
func (a Answer) Text(name string) string {
	s, _ := a.Body[name].(string)
	return s
}

// Post posts a form to an endpoint as the client that the form names, or else as web. Clients authenticate by HTTP
// Basic, unless they are public or the form has a secret.
func (w *OAuth) Post(path string, form ...string) Answer {
	w.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if client := values.Get("client_id"); client == "" {
		r.SetBasicAuth("web", "secret")
	} else if client != "spa" && values.Get("client_secret") == "" {
		r.SetBasicAuth(client, "secret")
	}
	return w.Send(r)
}

// Send sends a request of a program.
func (w *OAuth) Send(r *http.Request) Answer {
	w.Helper()
	out := httptest.NewRecorder()
	w.Programs.ServeHTTP(out, r)
	a := Answer{Status: out.Code, Header: out.Header()}
	if out.Body.Len() > 0 {
		w.Must(json.Unmarshal(out.Body.Bytes(), &a.Body))
	}
	return a
}

// Redeem redeems a code of the client web, with changes of the form.
func (w *OAuth) Redeem(code string, changes ...string) Answer {
	w.Helper()
	return w.Post("/oauth/v2/token", append([]string{"grant_type", "authorization_code", "code", code, "redirect_uri",
		Callback, "code_verifier", Verifier}, changes...)...)
}

// Refresh uses a refresh token of the client web, with changes of the form.
func (w *OAuth) Refresh(token string, changes ...string) Answer {
	w.Helper()
	return w.Post("/oauth/v2/token",
		append([]string{"grant_type", "refresh_token", "refresh_token", token}, changes...)...)
}

// LoggedIn returns the tokens for a code.
func (w *OAuth) LoggedIn(changes ...string) Answer {
	w.Helper()
	return w.Good(w.Redeem(w.Code(changes...)))
}

// Good fails the test unless an answer has tokens, and returns it.
func (w *OAuth) Good(a Answer) Answer {
	w.Helper()
	if a.Status != http.StatusOK || a.Text("access_token") == "" || a.Text("token_type") != "Bearer" ||
		a.Body["expires_in"] != 3600.0 || a.Header.Get("Cache-Control") != "no-store" {
		w.Fatalf("%d %v %v", a.Status, a.Header, a.Body)
	}
	return a
}

// Refused fails the test unless an answer is that error.
func (w *OAuth) Refused(a Answer, status int, code string) {
	w.Helper()
	if a.Status != status || a.Text("error") != code || a.Header.Get("Cache-Control") != "no-store" {
		w.Errorf("%d %v, want %d %s", a.Status, a.Body, status, code)
	}
}

// Userinfo returns what userinfo answers to an access token.
func (w *OAuth) Userinfo(token string) Answer {
	w.Helper()
	r := httptest.NewRequest("GET", "/oidc/v1/userinfo", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return w.Send(r)
}

// Claims returns the claims of the id token of an answer.
func (w *OAuth) Claims(a Answer) (c map[string]any) {
	w.Helper()
	payload, err := w.Keys.Verify(signing.IDToken(), a.Text("id_token"))
	w.Must(err)
	w.Must(json.Unmarshal(payload, &c))
	return c
}
