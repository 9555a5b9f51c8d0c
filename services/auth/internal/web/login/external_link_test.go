package login_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/testworld"
	authfault "herald/shared/gen/fault/authfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// allow replaces the options of the provider.
func (i *idps) allow(o *idpv1.IdpProviderOptions) { i.set(func(i *idps) { i.options = o }) }

const addLinkPath = testworld.AccountPath + "/idplinks/add"

// newLinking returns a browser whose person may link accounts of the provider.
func newLinking(t *testing.T) externalBrowser {
	t.Helper()
	b := newExternalBrowser(t)
	b.idps.allow(&idpv1.IdpProviderOptions{IsLinkingAllowed: true})
	b.idps.authTime = time.Now().Unix()
	b.users.Own.Profile = &usersv1.Profile{DisplayName: "Ada Lovelace"}
	return b
}

// beginLink begins to link an account.
func (b externalBrowser) beginLink() (login, state string) {
	b.Helper()
	w := testworld.Call(b.T, b.pages, addLinkPath, url.Values{"id": {"i1"}}, "Cookie", b.session)
	testworld.Leads(b.T, w, forwardPath)
	login = testworld.Cookie(b.T, w, externalCookie)
	testworld.Shows(b.T, testworld.Call(b.T, b.pages, forwardPath, nil, "Cookie", login), 200, "forward")
	b.idps.mu.Lock()
	defer b.idps.mu.Unlock()
	return login, b.idps.begun.State
}

// back comes back from the provider with a session.
func (b externalBrowser) back(login, session, state, account string) *httptest.ResponseRecorder {
	b.Helper()
	return b.arrive(login+"; "+session, "state", state, "code", account)
}

// A person who has logged in here with the password links an account, after authenticating at the provider.
func TestPeopleLinkAnAccountOnce(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	testworld.Shows(t, testworld.Call(t, b.pages, testworld.AccountPath+"/idplinks", nil, "Cookie", b.session), 200,
		"idplinks")
	testworld.Shows(t, testworld.Call(t, b.pages, addLinkPath+"?id=i1", nil, "Cookie", b.session), 200, "idplinkadd")
	testworld.Shows(t, testworld.Call(t, b.pages, addLinkPath+"?id=i2", nil, "Cookie", b.session), 404, "accountgone")
	login, state := b.beginLink()
	if !b.idps.begun.Again {
		t.Error("the person need not authenticate at the provider")
	}
	testworld.Leads(t, b.back(login, b.session, state, "mine"), testworld.AccountPath+"/idplinks?done=true")
	testworld.Shows(t, b.back(login, b.session, state, "mine"), 400, "externalgone")
	if len(b.users.Linked) != 1 {
		t.Fatalf("linked %v", b.users.Linked)
	}
	testkit.Equal(t, b.users.Linked[0], &usersv1.LinkExternalAccountRequest{
		Subject: &usersv1.CheckedSubject{UserId: "u1", Generation: 1, Credential: "password",
			Orgs: []*usersv1.CheckedOrg{{Id: "o1", Generation: 1}}},
		Link: &usersv1.IdpLink{ConfigId: "i1", ExternalUserId: "mine", TenantId: "t1", DisplayName: "mine"},
	})
}

// A person whose account is not linked logs in with the password, links it, and continues to the application.
func TestUnlinkedAccountIsLinkedAfterALoginWithThePassword(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	login, state := b.begin()
	w := b.arrive(login, "state", state, "code", "nobody")
	testworld.Shows(t, w, 403, "externalunlinked")
	to := addLinkPath + "?id=i1"
	if !testworld.Page(t, w).Find("a", "href", to).Exists() {
		t.Fatalf("the page does not lead to the link: %s", w.Body)
	}
	if testworld.Cookie(t, w, testworld.SessionCookie) != "" {
		t.Error("there is a session")
	}
	first := testworld.Call(t, b.pages, to, nil)
	testworld.Leads(t, first, testworld.ToLogin("/idplinks/add.i1"))
	form := testworld.Named("right")
	form.Set("request", "account.idplinks/add.i1")
	in := testworld.Call(t, b.pages, loginPath+"password", form)
	testworld.Leads(t, in, to)
	b.session = testworld.Cookie(t, in, testworld.SessionCookie)
	ask := testworld.Call(t, b.pages, to, nil, "Cookie", b.session)
	testworld.Shows(t, ask, 200, "idplinkadd")
	if body := ask.Body.String(); !strings.Contains(body, "Company &lt;b&gt;") ||
		!strings.Contains(body, "Ada Lovelace") {
		t.Errorf("the page does not say whose account is linked: %s", body)
	}

	// A person for whom a user may be created can link instead, even if the login name for the user is taken.
	b.idps.allow(&idpv1.IdpProviderOptions{IsLinkingAllowed: true, IsCreationAllowed: true})
	login, state = b.begin()
	w = b.arrive(login, "state", state, "code", "new")
	testworld.Shows(t, w, 200, "externalnew")
	if !testworld.Page(t, w).Find("a", "href", to).Exists() {
		t.Errorf("the page does not lead to the link: %s", w.Body)
	}
	b.idps.allow(&idpv1.IdpProviderOptions{IsLinkingAllowed: true, IsAutoCreation: true})
	login, state = b.begin()
	testworld.Shows(t, b.arrive(login, "state", state, "code", "taken"), 403, "externalunlinked")
	b.idps.allow(&idpv1.IdpProviderOptions{IsCreationAllowed: true})
	login, state = b.begin()
	w = b.arrive(login, "state", state, "code", "new")
	if testworld.Shows(t, w, 200, "externalnew"); testworld.Page(t, w).Find("a", "href", to).Exists() {
		t.Error("the page leads to a link that is not allowed")
	}
}

// A directory that does not say when it authenticated the person was asked to do so, and answers at once.
func TestAccountIsLinkedWithoutTimeOfAuthentication(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	b.idps.set(func(i *idps) { i.authTime = 0 })
	login, state := b.beginLink()
	if !b.idps.begun.Again {
		t.Error("the directory was not asked to authenticate the person")
	}
	b.back(login, b.session, state, "mine")
	if len(b.users.Linked) != 1 {
		t.Errorf("linked %v, noted %q", b.users.Linked, b.idps.notes())
	}
}

// Hostile: an account is linked only by the session that began it, while that may, and only once.
func TestAccountIsLinkedOnlyByTheSessionThatBeganIt(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	other := testworld.Cookie(t, testworld.Call(t, b.pages, loginPath+"password", testworld.Named("right")),
		testworld.SessionCookie)
	for name, session := range map[string]string{"another session": other, "no session": "a=b"} {
		login, state := b.beginLink()
		w := b.back(login, session, state, "mine")
		testworld.Shows(t, w, 400, "externalgone")
		if testworld.Cookie(t, w, testworld.SessionCookie) != "" {
			t.Errorf("%s: somebody is logged in", name)
		}
	}
	login, _ := b.beginLink()
	_, state := b.beginLink()
	testworld.Shows(t, b.back(login, b.session, state, "mine"), 400, "externalgone")
	for account, page := range map[string]string{"taken": "externallinked", "too many": "externalfull"} {
		login, state := b.beginLink()
		w := b.back(login, b.session, state, account)
		testworld.Shows(t, w, 403, page)
		if !testworld.Page(t, w).Find("a", "href", testworld.AccountPath+"/idplinks").Exists() {
			t.Errorf("%s leads nowhere", page)
		}
	}
	login, state = b.beginLink()
	testworld.Shows(t, b.back(login, b.session, state, "ended"), 400, "externalgone")
	for what, change := range map[string]func(){
		"an old": func() {
			b.idps.set(func(i *idps) { i.authTime = time.Now().Add(-time.Hour).Unix() })
		},
		"none, and nobody was asked to say it": func() {
			b.idps.set(func(i *idps) { i.authTime = 0 })
			if _, err := b.service.DB.Exec(t.Context(), `update external_logins set again = false`); err != nil {
				t.Fatal(err)
			}
		},
	} {
		login, state = b.beginLink()
		change()
		testworld.Shows(t, b.back(login, b.session, state, "mine"), 403, "externalrefused")
		if noted := b.idps.notes(); !strings.Contains(noted[len(noted)-1], authfault.ErrExternalLinkingStale.ID) {
			t.Errorf("time of authentication: %s: noted %q", what, noted)
		}
	}
	login, state = b.beginLink()
	b.idps.allow(&idpv1.IdpProviderOptions{IsAutoCreation: true})
	testworld.Shows(t, b.back(login, b.session, state, "mine"), 403, "externalunknown")
	if n := len(b.users.Linked); n != 0 {
		t.Errorf("%d accounts are linked", n)
	}
	noted := b.idps.notes()
	if last := noted[len(noted)-1]; last != "o1/i1 "+authfault.ErrExternalLinkingRefused.ID {
		t.Errorf("noted %q", last)
	}
	w := testworld.Call(t, b.pages, addLinkPath, url.Values{"id": {"i1"}}, "Cookie", b.session, "Sec-Fetch-Site",
		"cross-site")
	testworld.Shows(t, w, 403, "foreign")
}

// Who has logged in with an account of a provider, or too long ago, is asked for the password. Nobody links an account
// of a provider that does not let them, or of another organization.
func TestLinkingNeedsAFreshLoginWithThePassword(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	login, state := b.begin()
	external := testworld.Cookie(t, b.arrive(login, "state", state, "code", "ada"), testworld.SessionCookie)
	begins := func(session, leading string) {
		t.Helper()
		for _, form := range []url.Values{nil, {"id": {"i1"}}} {
			w := testworld.Call(t, b.pages, addLinkPath+"?id=i1", form, "Cookie", session)
			if form == nil {
				testworld.Leads(t, w, leading)
			} else {
				testworld.Shows(t, w, 403, "formold")
			}
			if testworld.Cookie(t, w, externalCookie) != "" {
				t.Error("a login at the provider has begun")
			}
		}
	}
	if _, err := b.service.DB.Exec(t.Context(), `update sessions set auth_time = now()`); err != nil {
		t.Fatal(err)
	}
	begins(external, loginPath+"?other=true&request=account.idplinks%2Fadd.i1")
	login, state = b.beginLink()
	if _, err := b.service.DB.Exec(t.Context(), `update external_logins set session_id = (
			select id from sessions where credential like 'idp:%' limit 1)`); err != nil {
		t.Fatal(err)
	}
	testworld.Shows(t, b.back(login, external, state, "mine"), 400, "externalgone")
	login, state = b.beginLink()
	if _, err := b.service.DB.Exec(t.Context(),
		`update sessions set auth_time = auth_time - interval '11 minutes'`); err != nil {
		t.Fatal(err)
	}
	testworld.Shows(t, b.back(login, b.session, state, "mine"), 400, "externalgone")
	begins(b.session, testworld.ToLogin("/idplinks/add.i1"))
	if n := testkit.Rows(t, b.service.DB, "external_logins"); n != 0 || len(b.users.Linked) != 0 {
		t.Errorf("%d logins wait, linked %v", n, b.users.Linked)
	}
	closed := newExternalBrowser(t)
	for _, id := range []string{"i1", "i2", ""} {
		w := testworld.Call(t, closed.pages, addLinkPath, url.Values{"id": {id}}, "Cookie", closed.session)
		testworld.Shows(t, w, 404, "accountgone")
	}
}
