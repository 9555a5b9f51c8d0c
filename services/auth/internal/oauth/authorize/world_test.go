package authorize_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/accesstoken"
	"herald/services/auth/internal/oauth/authorize"
	"herald/services/auth/internal/oauth/claims"
	"herald/services/auth/internal/oauth/introspect"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/oauth/token"
	"herald/services/auth/internal/oauth/userinfo"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/services/auth/internal/web/frame"
	"herald/shared/boot"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

var kit = testkit.New("auth", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

const (
	issuer    = "https://login.example.com"
	callback  = "https://app.example/cb"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // RFC 7636 appendix B
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// projects stands in for the service projects, and has applications by their ids.
type projects struct {
	projectsv1.UnimplementedInternalServer
	testkit.Unguarded
	mu     sync.Mutex
	apps   map[string]*projectsv1.ResolveClientResponse
	access *projectsv1.ResolveAccessResponse
}

func (p *projects) ResolveClient(
	_ context.Context, r *projectsv1.ResolveClientRequest,
) (*projectsv1.ResolveClientResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.apps[r.ClientId]
	if found == nil {
		return nil, fault.New(fault.NotFound, "APP_NOT_FOUND", "Application not found")
	}
	return &projectsv1.ResolveClientResponse{
		OrgId: found.OrgId, App: found.App, Project: found.Project, Generation: found.Generation,
		ProjectGeneration: found.ProjectGeneration,
		SecretMatches:     string(r.SecretHash) == string(secret.Hash("secret")),
	}, nil
}

func (p *projects) ResolveAccess(
	context.Context, *projectsv1.ResolveAccessRequest,
) (*projectsv1.ResolveAccessResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.access, nil
}

// users stands in for the service users: Ada belongs to the organization o1, applications to o2.
type users struct {
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	mu   sync.Mutex
	ada  *usersv1.ResolveSubjectResponse
	orgs map[string]*usersv1.SubjectOrg
}

func (u *users) ResolveSubject(
	_ context.Context, r *usersv1.ResolveSubjectRequest,
) (*usersv1.ResolveSubjectResponse, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := &usersv1.ResolveSubjectResponse{}
	if r.UserId != "" && r.UserId != "ada" {
		return nil, fault.New(fault.NotFound, "USER_NOT_FOUND", "User not found")
	}
	ids := r.OrgIds
	if r.UserId == "ada" {
		out.OrgId, out.State, out.Type, out.Generation = u.ada.OrgId, u.ada.State, u.ada.Type, u.ada.Generation
		if r.Credential == u.ada.Credential {
			out.Credential = r.Credential
		}
		if r.WithProfile {
			out.User = u.ada.User
		}
		ids = append(ids, out.OrgId)
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if o := u.orgs[id]; o != nil && !seen[id] {
			out.Orgs, seen[id] = append(out.Orgs, o), true
		}
	}
	return out, nil
}

// text stands in for the service text.
type text struct{ textv1.UnimplementedTextServer }

func (text) ResolveLanguages(
	context.Context, *textv1.ResolveLanguagesRequest,
) (*textv1.ResolveLanguagesResponse, error) {
	return &textv1.ResolveLanguagesResponse{DefaultLanguage: "en", AllowedLanguages: []string{"en", "de"}}, nil
}

// sessions stand in for the logins of browsers: there is one, or none.
type sessions struct {
	mu      sync.Mutex
	session *domain.Session
}

func (s *sessions) Session(*http.Request) (domain.Session, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return domain.Session{}, false, nil
	}
	return *s.session, true, nil
}

// pairs are key pairs that all tests share because RSA pairs take long to make.
var pairs = sync.OnceValues(func() (made map[domain.Algorithm][]byte, err error) {
	made = map[domain.Algorithm][]byte{}
	for _, a := range domain.Algorithms() {
		if made[a], err = signing.NewPair(a); err != nil {
			return nil, err
		}
	}
	return made, nil
})

// world is the endpoints for people and for programs, with stand-ins for other services.
type world struct {
	testing.TB
	*projects
	*users
	*sessions
	*authorize.Endpoint
	pages, programs http.Handler
	db              store.Store
	service         *boot.Service
	keys            *signing.Keys
	lines           *testkit.Lines
	mu              sync.Mutex
	now             time.Time
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// pass moves the clock.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		TB: t, projects: newProjects(), users: newUsers(), sessions: &sessions{}, lines: &testkit.Lines{},
		now: time.Now().Truncate(time.Microsecond),
	}
	g := testkit.Logged(t, testkit.Ground(t), 0, w.lines)
	g.Now = w.clock
	address, err := boot.ParsePublicURL(issuer)
	w.must(err)
	g.PublicURL = address
	w.service = kit.Open(t, g)
	testkit.Serve(t, g, "projects", w.projects, &projectsv1.Internal_ServiceDesc)
	testkit.Serve(t, g, "users", w.users, &usersv1.Internal_ServiceDesc)
	testkit.Serve(t, g, "text", text{}, &textv1.Text_ServiceDesc)
	w.db = store.New(w.service.Journal)
	w.openKeys()
	w.mount()
	w.login()
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) openKeys() {
	w.Helper()
	made, err := pairs()
	w.must(err)
	s := w.service
	for a, pair := range made {
		_, err := s.DB.Exec(w.Context(), `insert into signing_keys values ($1, $1, $2, $3, 1, $3, $3)`, a,
			s.Keys.Seal(pair, domain.SealedPrivateKey, string(a)), w.now.Add(-time.Hour))
		w.must(err)
	}
	w.keys, err = signing.Open(w.Context(), signing.Config{
		Store: w.db, Sealing: s.Keys, Period: 90 * 24 * time.Hour, Now: w.clock, Log: s.Log,
	})
	w.must(err)
}

func (w *world) mount() {
	w.Helper()
	s := w.service
	l, err := frame.New(textv1.NewTextClient(s.Calls), s.Now, s.Log)
	w.must(err)
	own := upstream.New(projectsv1.NewInternalClient(s.Calls), usersv1.NewInternalClient(s.Calls))
	issued := accesstoken.Tokens{Store: w.db, Keys: w.keys, Upstream: own, Issuer: issuer, Now: w.clock}
	w.Endpoint = authorize.New(authorize.Config{
		Store: w.db, Upstream: own, Cached: own, Keys: w.keys, Sessions: w.sessions, Frame: l, Issuer: issuer,
		Now: w.clock, Log: s.Log, Metrics: s.Metrics,
	})
	people, programs := http.NewServeMux(), http.NewServeMux()
	w.Endpoint.Mount(people)
	// As the login pages do once somebody has logged in.
	people.HandleFunc("POST /ui/login/finish", func(out http.ResponseWriter, r *http.Request) {
		session, _, _ := w.sessions.Session(r)
		w.Finish(r.Context(), out, r, r.FormValue("request"), session)
	})
	w.pages, err = l.Guard(people, s.PublicURL, authorize.Path)
	w.must(err)
	told := claims.Claims{Upstream: own}
	clients := protocol.Clients{Upstream: own, Store: w.db, Issuer: issuer, Now: w.clock}
	token.New(token.Config{
		Clients: clients, Tokens: issued, Claims: told, Log: s.Log, Metrics: s.Metrics,
	}).Mount(programs)
	introspect.New(introspect.Config{Clients: clients, Tokens: issued, Claims: told, Log: s.Log, Metrics: s.Metrics}).
		Mount(programs)
	userinfo.Endpoint{Tokens: issued, Claims: told, Log: s.Log}.Mount(programs)
	w.programs = programs
}

// newProjects returns a project that is granted to the organization of Ada, with the applications web (basic, with all
// grants), other (the same), spa (public), native and api.
func newProjects() *projects {
	app := func(id string, change func(*projectsv1.OidcConfig)) *projectsv1.ResolveClientResponse {
		o := &projectsv1.OidcConfig{
			AuthMethodType: projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_BASIC,
			RedirectUris:   []string{callback, callback + "?tenant=1"},
			GrantTypes: []projectsv1.OidcGrantType{
				projectsv1.OidcGrantType_OIDC_GRANT_TYPE_AUTHORIZATION_CODE,
				projectsv1.OidcGrantType_OIDC_GRANT_TYPE_REFRESH_TOKEN,
			},
		}
		change(o)
		return &projectsv1.ResolveClientResponse{
			OrgId: "o2", Generation: 3, ProjectGeneration: 4, App: &projectsv1.App{
				Id: id, Name: "Shop", State: projectsv1.AppState_APP_STATE_ACTIVE,
				Config: &projectsv1.App_OidcConfig{OidcConfig: o},
			}, Project: &projectsv1.Project{Id: "p1", State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE},
		}
	}
	same := func(*projectsv1.OidcConfig) {}
	granted := &projectsv1.ResolveAccessResponse{OrgHasProject: true}
	return &projects{access: granted, apps: map[string]*projectsv1.ResolveClientResponse{
		"web": app("web", same), "other": app("other", same),
		"post": app("post", func(o *projectsv1.OidcConfig) {
			o.AuthMethodType = projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_POST
		}),
		"spa": app("spa", func(o *projectsv1.OidcConfig) {
			o.AuthMethodType = projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_NONE
		}),
		"jwt": app("jwt", func(o *projectsv1.OidcConfig) {
			o.AccessTokenType = heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_JWT
			o.GrantTypes = o.GrantTypes[:1]
		}),
		"native": app("native", func(o *projectsv1.OidcConfig) {
			o.AppType = projectsv1.OidcAppType_OIDC_APP_TYPE_NATIVE
			o.RedirectUris = []string{"http://127.0.0.1/cb", "com.example.app:/cb"}
		}),
	}}
}

func newUsers() *users {
	active := usersv1.OrgState_ORG_STATE_ACTIVE
	return &users{
		ada: &usersv1.ResolveSubjectResponse{
			OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, Type: usersv1.UserType_USER_TYPE_HUMAN,
			Generation: 5, Credential: "password", User: &usersv1.User{
				Id: "ada", PreferredLoginName: "ada@example.com", Type: &usersv1.User_Human{Human: &usersv1.Human{
					Profile: &usersv1.Profile{FirstName: "Ada", LastName: "Lovelace", DisplayName: "Ada Lovelace"},
					Email:   &usersv1.Email{Email: "ada@example.com", IsEmailVerified: true},
					Phone:   &usersv1.Phone{Phone: "+41791234567", IsPhoneVerified: true},
				}},
			},
		},
		orgs: map[string]*usersv1.SubjectOrg{
			"o1": {Id: "o1", Name: "One", PrimaryDomain: "one.example", State: active, Generation: 1},
			"o2": {Id: "o2", Name: "Two", PrimaryDomain: "two.example", State: active, Generation: 2},
		},
	}
}

// login lets Ada log in now.
func (w *world) login() {
	w.sessions.mu.Lock()
	defer w.sessions.mu.Unlock()
	w.session = &domain.Session{
		ID: "s1", UserID: "ada", UserGeneration: 5, OrgID: "o1", OrgGeneration: 1, AuthTime: w.clock(),
		AMR: []string{"pwd"}, Credential: "password",
	}
	w.must(w.db.AddSession(w.Context(), []byte("cookie"), *w.session))
}

// logout ends the login of the browser.
func (w *world) logout() {
	w.sessions.mu.Lock()
	defer w.sessions.mu.Unlock()
	w.session = nil
}

// query returns good parameters of the application web, with changes: an empty value removes one.
func query(changes ...string) url.Values {
	q := url.Values{
		"client_id": {"web"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid offline_access"},
		"state": {"st"}, "nonce": {"no"}, "code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

// ask sends a request as the browser does that comes from the client.
func (w *world) ask(changes ...string) *httptest.ResponseRecorder {
	w.Helper()
	return w.visit("GET", authorize.Path+"?"+query(changes...).Encode(), nil)
}

func (w *world) visit(method, uri string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequest(method, uri, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	out := httptest.NewRecorder()
	w.pages.ServeHTTP(out, r)
	return out
}

// finish ends the login for a stored request, as the login pages do.
func (w *world) finish(id string) *httptest.ResponseRecorder {
	w.Helper()
	return w.visit("POST", "/ui/login/finish", url.Values{"request": {id}}, "Sec-Fetch-Site", "same-origin")
}

// back returns what the client gets in a redirect to its address.
func (w *world) back(out *httptest.ResponseRecorder) url.Values {
	w.Helper()
	to, query, _ := strings.Cut(out.Header().Get("Location"), "?")
	values, err := url.ParseQuery(query)
	if out.Code != http.StatusSeeOther || to != callback || err != nil || values.Get("iss") != issuer ||
		out.Header().Get("Cache-Control") != "no-store" {
		w.Fatalf("%d %s %v\n%s", out.Code, out.Header(), err, out.Body)
	}
	return values
}

// code returns the code for a request that is answered at once.
func (w *world) code(changes ...string) string {
	w.Helper()
	values := w.back(w.ask(changes...))
	if !secret.AuthorizationCode.WellFormed(values.Get("code")) || len(values) != 3 {
		w.Fatalf("%v", values)
	}
	return values.Get("code")
}

// answer is a response of an endpoint for programs.
type answer struct {
	Status int
	Header http.Header
	Body   map[string]any
}

func (a answer) text(name string) string {
	s, _ := a.Body[name].(string)
	return s
}

// token asks the token endpoint as the client web, or as the public client that the form names.
func (w *world) token(form ...string) answer {
	w.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	r := httptest.NewRequest("POST", token.Path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if client := values.Get("client_id"); client == "" {
		r.SetBasicAuth("web", "secret")
	} else if client != "spa" && values.Get("client_secret") == "" {
		r.SetBasicAuth(client, "secret")
	}
	return w.send(r)
}

func (w *world) send(r *http.Request) answer {
	w.Helper()
	out := httptest.NewRecorder()
	w.programs.ServeHTTP(out, r)
	a := answer{Status: out.Code, Header: out.Header()}
	if out.Body.Len() > 0 {
		w.must(json.Unmarshal(out.Body.Bytes(), &a.Body))
	}
	return a
}

// redeem redeems a code of the client web, with changes of the form.
func (w *world) redeem(code string, changes ...string) answer {
	w.Helper()
	return w.token(append([]string{"grant_type", "authorization_code", "code", code, "redirect_uri", callback,
		"code_verifier", verifier}, changes...)...)
}

// tokens logs in and returns the tokens.
func (w *world) loggedIn(changes ...string) answer {
	w.Helper()
	a := w.redeem(w.code(changes...))
	w.good(a)
	return a
}

func (w *world) refresh(token string, changes ...string) answer {
	w.Helper()
	return w.token(append([]string{"grant_type", "refresh_token", "refresh_token", token}, changes...)...)
}

// good fails the test unless an answer has tokens.
func (w *world) good(a answer) {
	w.Helper()
	if a.Status != http.StatusOK || a.text("access_token") == "" || a.text("token_type") != "Bearer" ||
		a.Body["expires_in"] != 3600.0 || a.Header.Get("Cache-Control") != "no-store" {
		w.Fatalf("%d %v %v", a.Status, a.Header, a.Body)
	}
}

// refused fails the test unless an answer is that error.
func (w *world) refused(a answer, status int, code string) {
	w.Helper()
	if a.Status != status || a.text("error") != code || a.Header.Get("Cache-Control") != "no-store" {
		w.Errorf("%d %v, want %d %s", a.Status, a.Body, status, code)
	}
}

// userinfo returns what userinfo answers to an access token.
func (w *world) userinfo(token string) answer {
	w.Helper()
	r := httptest.NewRequest("GET", userinfo.Path, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return w.send(r)
}

// claims returns the claims of an id token.
func (w *world) claims(token string) map[string]any {
	w.Helper()
	payload, err := w.keys.Verify(signing.IDToken(), token)
	w.must(err)
	var c map[string]any
	w.must(json.Unmarshal(payload, &c))
	return c
}
