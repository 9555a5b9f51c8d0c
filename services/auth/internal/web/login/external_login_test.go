package login_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/store"
	"herald/services/auth/internal/testworld"
	"herald/shared/boot"
	"herald/shared/fault"
	authfault "herald/shared/gen/fault/authfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// idps stands in for the service idp. The organization o1 has the provider i1.
type idps struct {
	mu       sync.Mutex
	state    idpv1.IdpState
	begun    *idpv1.BeginIdpLoginRequest
	finished *idpv1.FinishIdpLoginRequest
	noted    []string
	options  *idpv1.IdpProviderOptions
	// authTime is when people authenticated, in seconds since 1970; 0 if that is not said.
	authTime int64
	away     bool
}

func (i *idps) set(change func(*idps)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(i)
}

// idpFaults are those of the real service, by the code that causes them here.
var idpFaults = map[string]*fault.Fault{
	"off":     fault.New(fault.Precondition, "IDP_NOT_ACTIVE", "The identity provider is not active"),
	"gone":    fault.New(fault.NotFound, "IDP_NOT_FOUND", "Identity provider not found"),
	"away":    fault.New(fault.Unavailable, "IDP_AWAY", "The identity provider does not answer as it should"),
	"refused": fault.New(fault.Precondition, "IDP_CODE_REFUSED", "The identity provider refused the login"),
	"invalid": fault.New(fault.Precondition, "IDP_TOKEN_INVALID", "It cannot be trusted"),
	"tenant":  fault.New(fault.Precondition, "IDP_TENANT_REFUSED", "The account belongs to another tenant"),
	"broken":  fault.ErrInternal,
}

func (i *idps) answer(_ context.Context, request proto.Message) (proto.Message, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch r := request.(type) {
	case *idpv1.ListOfferedIdpsRequest:
		found := &idpv1.ListOfferedIdpsResponse{}
		if i.away {
			return nil, fault.ErrUnavailable
		}
		if r.OrgId == "o1" {
			found.Idps = []*idpv1.OfferedIdp{
				{Id: "i1", Name: "Company <b>", IsLinkingAllowed: i.options.GetIsLinkingAllowed()},
			}
		}
		return found, nil
	case *idpv1.ResolveIdpsRequest:
		return &idpv1.ResolveIdpsResponse{Idps: []*idpv1.Idp{{Id: "i1", State: i.state}}}, nil
	case *idpv1.BeginIdpLoginRequest:
		i.begun = r
		return &idpv1.BeginIdpLoginResponse{
			Address: "https://directory.example/authorize?a=1&b=2", IdpName: "Company <b>",
		}, nil
	case *idpv1.FinishIdpLoginRequest:
		if f := idpFaults[r.Code]; f != nil {
			return nil, f
		}
		i.finished = r
		return &idpv1.FinishIdpLoginResponse{IdpName: "Company <b>", ProviderOptions: i.options,
			Account: &idpv1.ExternalAccount{TenantId: "t1", ExternalUserId: r.Code, UserName: r.Code,
				FirstName: "Ada <b>", LastName: "L", Email: "ada@example.com", EmailVerified: true,
				Amr: []string{"pwd"}, AuthTime: i.authTime}}, nil
	case *idpv1.NoteRefusedLoginRequest:
		i.noted = append(i.noted, r.OrgId+"/"+r.IdpId+" "+r.Reason+r.TenantId+r.ExternalUserId)
		return &idpv1.NoteRefusedLoginResponse{}, nil
	}
	return nil, nil
}

func (i *idps) notes() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.noted)
}

const (
	externalPath   = loginPath + "externalidp"
	forwardPath    = externalPath + "/forward"
	externalCookie = "__Host-herald-external"
)

// externalBrowser is a browser with a session in a world with identity providers.
type externalBrowser struct {
	*testing.T
	pages   http.Handler
	idps    *idps
	users   *testworld.Users
	service *boot.Service
	said    *testkit.Lines // the log
	session string
}

func newExternalBrowser(t *testing.T) externalBrowser {
	t.Helper()
	said := new(testkit.Lines)
	g := testkit.Logged(t, testkit.Ground(t), 0, said)
	i, u := &idps{state: idpv1.IdpState_IDP_STATE_ACTIVE}, &testworld.Users{}
	s := testworld.Start(t, g, testworld.Public, 1000)
	testworld.ServeUsers(t, g, u)
	testworld.ServeText(t, g)
	testworld.Serve(t, g, "idp", i.answer, &idpv1.Idps_ServiceDesc)
	b := externalBrowser{t, testworld.NewEdge(t, g), i, u, s, said, ""}
	b.session = testworld.Cookie(t, testworld.Call(t, b.pages, loginPath+"password", testworld.Named("right")),
		testworld.SessionCookie)
	return b
}

// begin begins a login at the provider and returns its cookie and state.
func (b externalBrowser) begin(confirmed ...string) (login, state string) {
	b.Helper()
	w := testworld.Call(b.T, b.pages, externalPath, url.Values{"idp": {"i1"}, "confirmed": confirmed}, "Cookie",
		b.session)
	testworld.Leads(b.T, w, forwardPath)
	login = testworld.Cookie(b.T, w, externalCookie)
	testworld.Shows(b.T, testworld.Call(b.T, b.pages, forwardPath, nil, "Cookie", login), 200, "forward")
	b.idps.mu.Lock()
	defer b.idps.mu.Unlock()
	return login, b.idps.begun.State
}

// arrive comes back from the provider.
func (b externalBrowser) arrive(login string, query ...string) *httptest.ResponseRecorder {
	b.Helper()
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	return testworld.Call(b.T, b.pages, externalPath+"/callback?"+values.Encode(), nil, "Cookie", login,
		"Sec-Fetch-Site", "cross-site")
}

// credential returns the credential of the session with a cookie, "" if there is no session.
func (b externalBrowser) credential(session string) string {
	b.Helper()
	_, value, _ := strings.Cut(session, "=")
	found, _, err := store.New(b.service.Journal).Session(b.Context(), secret.Hash(value))
	if err != nil {
		b.Fatal(err)
	}
	return found.Credential
}

func TestPeopleLogInAtAProvider(t *testing.T) {
	t.Parallel()
	b := newExternalBrowser(t)
	page := testworld.Call(t, b.pages, loginPath+"?other=true", nil, "Cookie", b.session)
	testworld.Shows(t, page, 200, "login")
	body := page.Body.String()
	if !strings.Contains(body, "Company &lt;b&gt;") || !strings.Contains(body, `value="i1"`) {
		t.Error("the page does not offer the provider")
	}
	login, state := b.begin()
	forward := testworld.Call(t, b.pages, forwardPath, nil, "Cookie", login)
	if got := forward.Header().Get("Refresh"); got != "0;url=https://directory.example/authorize?a=1&b=2" {
		t.Errorf("the page leads to %q", got)
	}
	in := b.arrive(login, "state", state, "code", "ada")
	testworld.Leads(t, in, loginPath)
	session := testworld.Cookie(t, in, testworld.SessionCookie)
	if got := b.credential(session); got != "idp:i1:ada" {
		t.Errorf("the session's credential is %q", got)
	}
	testworld.Shows(t, testworld.Call(t, b.pages, loginPath, nil, "Cookie", session), 200, "session")
	begun, finished := b.idps.begun, b.idps.finished
	challenge := base64.RawURLEncoding.EncodeToString(secret.Hash(finished.CodeVerifier))
	if begun.CodeChallenge != challenge || begun.Nonce != finished.Nonce || begun.Nonce == begun.State ||
		len(finished.CodeVerifier) < 43 || !begun.Again || begun.OrgId != "o1" || begun.IdpId != "i1" {
		t.Errorf("began with %v, came back with %v", begun, finished)
	}
	if n := testkit.Rows(t, b.service.DB, "external_logins"); n != 0 || len(b.idps.notes()) != 0 {
		t.Errorf("%d logins wait, noted %v", n, b.idps.notes())
	}
}

// A login comes back once, with its state, in the browser that began it.
func TestExternalLoginComesBackOnceToItsBrowser(t *testing.T) {
	t.Parallel()
	b := newExternalBrowser(t)
	first, state := b.begin()
	second, others := b.begin()
	for name, query := range map[string][]string{
		"another browser": {"", "state", state, "code", "ada"},
		"another login":   {second, "state", state, "code", "ada"},
		"no state":        {first, "code", "ada"}, "empty state": {first, "state", "", "code", "ada"},
		"an invented cookie":   {externalCookie + "=" + strings.Repeat("a", 43), "state", state, "code", "ada"},
		"an error for another": {first, "state", others, "error", "access_denied"}, "nothing": {""},
	} {
		t.Run(name, func(t *testing.T) {
			w := b.arrive(query[0], query[1:]...)
			testworld.Shows(t, w, 400, "externalgone")
			if testworld.Cookie(t, w, testworld.SessionCookie) != "" {
				t.Error("there is a session")
			}
		})
	}
	if w := b.arrive(first, "state", state, "code", "ada"); testworld.Cookie(t, w, testworld.SessionCookie) == "" {
		t.Error("attacks from elsewhere have ended the login")
	}
	testworld.Shows(t, b.arrive(first, "state", state, "code", "ada"), 400, "externalgone")
	if n := testkit.Race(t, 20, func(int) error {
		if testworld.Cookie(t, b.arrive(second, "state", others, "code", "ada"), testworld.SessionCookie) == "" {
			return authfault.ErrExternalLoginGone
		}
		return nil
	}, authfault.ErrExternalLoginGone.ID); n != 1 {
		t.Errorf("%d of 20 came back", n)
	}
	testworld.Shows(t, testworld.Call(t, b.pages, externalPath, url.Values{"idp": {"i1"}}, "Sec-Fetch-Site",
		"cross-site"), 403, "foreign")
}

// Everybody who cannot log in learns what to do, and the administrators learn why.
func TestRefusedExternalLoginHasAPageAndIsRecorded(t *testing.T) {
	t.Parallel()
	b := newExternalBrowser(t)
	for _, c := range []struct {
		query      []string
		status     int
		page, note string
	}{
		{[]string{"error", "access_denied"}, 403, "externaldenied", authfault.ErrExternalLoginDenied.ID},
		{[]string{"error", "<script>"}, 403, "externaldenied", authfault.ErrExternalLoginDenied.ID},
		{nil, 403, "externaldenied", authfault.ErrExternalLoginDenied.ID},
		{[]string{"code", "off"}, 403, "externaloff", "IDP_NOT_ACTIVE"},
		{[]string{"code", "gone"}, 403, "externaloff", "IDP_NOT_FOUND"},
		{[]string{"code", "away"}, 503, "away", "IDP_AWAY"},
		{[]string{"code", "refused"}, 403, "externalrefused", "IDP_CODE_REFUSED"},
		{[]string{"code", "invalid"}, 403, "externalrefused", "IDP_TOKEN_INVALID"},
		{[]string{"code", "tenant"}, 403, "externaltenant", "IDP_TENANT_REFUSED"},
		{[]string{"code", "broken"}, 500, "failed", ""},
		{[]string{"code", "nobody"}, 403, "externalunknown", "IDP_LINK_NOT_FOUND"},
		{[]string{"code", "elsewhere"}, 403, "externalunknown", "IDP_LINK_OTHER_TENANT"},
		{[]string{"code", "locked"}, 403, "inactive", authfault.ErrExternalUserInactive.ID},
		{[]string{"code", "inactive"}, 403, "inactive", authfault.ErrExternalUserInactive.ID},
	} {
		t.Run(strings.Join(c.query, " "), func(t *testing.T) {
			before := len(b.idps.notes())
			login, state := b.begin()
			w := b.arrive(login, append(c.query, "state", state)...)
			testworld.Shows(t, w, c.status, c.page)
			if testworld.Cookie(t, w, testworld.SessionCookie) != "" || strings.Contains(w.Body.String(), "<script") {
				t.Error(w.Body)
			}
			var want []string
			if c.note != "" {
				want = []string{"o1/i1 " + c.note}
			}
			if got := b.idps.notes()[before:]; !slices.Equal(got, want) {
				t.Errorf("noted %q, want %q", got, want)
			}
		})
	}
}

// Only what the page offers can be begun.
func TestProviderThatIsNotOfferedIsRefused(t *testing.T) {
	t.Parallel()
	b := newExternalBrowser(t)
	for _, id := range []string{"", "i2", "i1 "} {
		testworld.Shows(t, testworld.Call(t, b.pages, externalPath, url.Values{"idp": {id}}, "Cookie", b.session), 400,
			"externaloff")
	}
	testworld.Shows(t, testworld.Call(t, b.pages, externalPath, url.Values{"idp": {"i1"}}), 400, "externaloff")
	testworld.Shows(t, testworld.Call(t, b.pages, forwardPath, nil), 400, "externalgone")
	if n := testkit.Rows(t, b.service.DB, "external_logins"); n != 0 {
		t.Errorf("%d logins wait", n)
	}
}

// While idp does not answer, no page says that a provider is deactivated or removed, and none repeats the outage in the
// log.
func TestProvidersAreNotCalledDeactivatedDuringAnOutage(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	b.idps.set(func(i *idps) { i.away = true })
	for path, form := range map[string]url.Values{
		externalPath: {"idp": {"i1"}}, addLinkPath: {"id": {"i1"}}, addLinkPath + "?id=i1": nil,
	} {
		w := testworld.Call(t, b.pages, path, form, "Cookie", b.session)
		if testworld.Shows(t, w, 503, "away"); w.Header().Get("Retry-After") == "" {
			t.Errorf("%s does not say when to try again", path)
		}
	}
	testworld.Shows(t, testworld.Call(t, b.pages, testworld.AccountPath+"/idplinks", nil, "Cookie", b.session), 200,
		"idplinks")
	testworld.Shows(t, testworld.Call(t, b.pages, loginPath+"?other=true", nil, "Cookie", b.session), 200, "login")
	if strings.Contains(b.said.String(), "identity providers") {
		t.Errorf("the log says %s", b.said.String())
	}
}

// A page of the own account that needs a fresh login gets one by the providers of the person's organization too.
func TestExternalLoginIsFreshEnoughForTheAccount(t *testing.T) {
	t.Parallel()
	b := newExternalBrowser(t)
	page := testworld.Call(t, b.pages, testworld.ToLogin("/password")+"&other=true", nil, "Cookie", b.session)
	testworld.Shows(t, page, 200, "login")
	if !strings.Contains(page.Body.String(), `value="i1"`) {
		t.Error("the page does not offer the provider")
	}
	w := testworld.Call(t, b.pages, externalPath, url.Values{"idp": {"i1"}, "request": {"account.password"}}, "Cookie",
		b.session)
	login := testworld.Cookie(t, w, externalCookie)
	testworld.Shows(t, testworld.Call(t, b.pages, forwardPath, nil, "Cookie", login), 200, "forward")
	if !b.idps.begun.Again {
		t.Error("the person need not authenticate anew")
	}
	testworld.Leads(t, b.arrive(login, "state", b.idps.begun.State, "code", "ada"), testworld.AccountPath+"/password")
}

// A person with a second factor here is asked for it, and has no session before.
func TestExternalLoginAsksForTheSecondFactor(t *testing.T) {
	t.Parallel()
	b := newExternalBrowser(t)
	login, state := b.begin()
	w := b.arrive(login, "state", state, "code", "factor")
	testworld.Leads(t, w, loginPath+"factor")
	step := testworld.Cookie(t, w, testworld.LoginCookie)
	if step == "" || testworld.Cookie(t, w, testworld.SessionCookie) != "" {
		t.Fatalf("cookies %q", w.Header()["Set-Cookie"])
	}
	done := testworld.Call(t, b.pages, loginPath+"factor", url.Values{"code": {"123456"}}, "Cookie", step)
	testworld.Leads(t, done, loginPath)
	if got := b.credential(testworld.Cookie(t, done, testworld.SessionCookie)); got != "idp:i1:factor" {
		t.Errorf("the session's credential is %q", got)
	}
}

// A login gives no session if its provider is deactivated at the same time. The provider's sessions end, and others
// stay.
func TestDeactivatedProviderEndsItsSessions(t *testing.T) {
	t.Parallel()
	b := newExternalBrowser(t)
	login, state := b.begin()
	session := testworld.Cookie(t, b.arrive(login, "state", state, "code", "ada"), testworld.SessionCookie)
	local := testworld.Cookie(t, testworld.Call(t, b.pages, loginPath+"password", testworld.Named("right")),
		testworld.SessionCookie)

	b.idps.set(func(i *idps) { i.state = idpv1.IdpState_IDP_STATE_INACTIVE })
	login, state = b.begin()
	w := b.arrive(login, "state", state, "code", "ada")
	testworld.Shows(t, w, 403, "externaloff")
	if got := b.credential(testworld.Cookie(t, w, testworld.SessionCookie)); got != "" {
		t.Errorf("there is a session of %q", got)
	}
	noted := []string{"o1/i1 " + authfault.ErrExternalLoginOver.ID}
	if got := b.idps.notes(); !slices.Equal(got, noted) {
		t.Errorf("noted %q", got)
	}
	testworld.Kit.Publisher(t, b.service.Ground, "idp").Publish("o1", "i1", "admin", &idpv1.IdpDeactivated{})
	testkit.Until(t, b.service.DB, "sessions", `not exists (select from sessions where credential like 'idp:%')`)
	testworld.Shows(t, testworld.Call(t, b.pages, loginPath, nil, "Cookie", session), 200, "login")
	testworld.Shows(t, testworld.Call(t, b.pages, loginPath, nil, "Cookie", local), 200, "session")
}

// Who has an account that nobody is linked to gets a user if the provider's options say so: at once, or after the
// person has agreed to it for this very account.
func TestExternalLoginCreatesUsersIfTheProviderMay(t *testing.T) {
	t.Parallel()
	b := newExternalBrowser(t)
	come := func(account string, confirmed ...string) *httptest.ResponseRecorder {
		login, state := b.begin(confirmed...)
		return b.arrive(login, "state", state, "code", account)
	}
	b.idps.options = &idpv1.IdpProviderOptions{IsLinkingAllowed: true, IsAutoUpdate: true}
	testworld.Shows(t, come("new", "t1/new"), 403, "externalunlinked")
	b.idps.options = &idpv1.IdpProviderOptions{IsCreationAllowed: true}
	for _, confirmed := range []string{"", "t1/other", "t2/new", "new", strings.Repeat("a", 401)} {
		w := come("new", confirmed)
		testworld.Shows(t, w, 200, "externalnew")
		body := w.Body.String()
		if !strings.Contains(body, "Ada &lt;b&gt;") || !strings.Contains(body, `value="t1/new"`) ||
			testworld.Cookie(t, w, testworld.SessionCookie) != "" || b.users.Created != nil {
			t.Errorf("%q: %s", confirmed, body)
		}
	}
	if w := come("new", "t1/new"); b.credential(testworld.Cookie(t, w, testworld.SessionCookie)) != "idp:i1:new" ||
		b.idps.begun.Again {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.idps.options = &idpv1.IdpProviderOptions{IsAutoCreation: true, IsAutoUpdate: true}
	if w := come("auto"); b.credential(testworld.Cookie(t, w, testworld.SessionCookie)) != "idp:i1:auto" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, m := range b.users.Requests() {
		if r, ok := m.(*usersv1.CreateExternalUserRequest); ok && (r.OrgId != "o1" || !r.User.Email.IsEmailVerified ||
			r.User.Idps[0].TenantId != "t1" || r.User.Idps[0].ConfigId != "i1") {
			t.Errorf("created %v", r)
		}
	}
	testworld.Shows(t, come("taken"), 403, "externaltaken")
	testworld.Shows(t, come("lacking"), 403, "externallacking")
	if got, want := b.idps.notes(), []string{"IDP_LINK_NOT_FOUND", "USER_NAME_TAKEN",
		authfault.ErrExternalProfileIncomplete.ID}; len(got) != len(want) ||
		got[1] != "o1/i1 "+want[1] {
		t.Errorf("noted %q", got)
	}
	if got := b.users.Updated; len(got) != 0 {
		t.Errorf("updated %v", got)
	}
	come("ada")
	if got := b.users.Updated; len(got) != 1 || got[0].UserId != "u1" || got[0].FirstName != "Ada <b>" {
		t.Errorf("updated %v", got)
	}
}
