package auth

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"herald/shared/fault"
	"herald/shared/gen/fault/authfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func (u *users) LinkExternalAccount(
	_ context.Context, r *usersv1.LinkExternalAccountRequest,
) (*usersv1.LinkExternalAccountResponse, error) {
	switch r.Link.ExternalUserId {
	case "taken":
		return nil, fault.New(fault.Exists, "IDP_LINK_TAKEN", "Another user is linked to that account")
	case "too many":
		return nil, fault.New(fault.Precondition, "IDP_LINK_LIMIT", "A user is linked to at most 20 accounts")
	case "ended":
		return nil, fault.ErrTokenInvalid
	}
	u.called(r)
	return &usersv1.LinkExternalAccountResponse{}, nil
}

// set replaces the options of the provider.
func (i *idps) set(o *idpv1.IdpProviderOptions) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.options = o
}

// links returns the accounts that were linked.
func (u *users) links() (all []*usersv1.LinkExternalAccountRequest) {
	for _, m := range u.requests() {
		if r, ok := m.(*usersv1.LinkExternalAccountRequest); ok {
			all = append(all, r)
		}
	}
	return all
}

const addLinkPath = accountPath + "/idplinks/add"

// newLinking returns a browser whose person may link accounts of the provider.
func newLinking(t *testing.T) externalBrowser {
	t.Helper()
	b := newExternalBrowser(t)
	b.idps.set(&idpv1.IdpProviderOptions{IsLinkingAllowed: true})
	b.idps.authTime = time.Now().Unix()
	b.users.own.profile = &usersv1.Profile{DisplayName: "Ada Lovelace"}
	return b
}

// beginLink begins to link an account.
func (b externalBrowser) beginLink() (login, state string) {
	b.Helper()
	w := call(b.T, b.pages, addLinkPath, url.Values{"id": {"i1"}}, "Cookie", b.session)
	leads(b.T, w, forwardPath)
	login = cookie(b.T, w, externalCookie)
	shows(b.T, call(b.T, b.pages, forwardPath, nil, "Cookie", login), 200, "forward")
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
func TestPeopleLinkAccounts(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	shows(t, call(t, b.pages, accountPath+"/idplinks", nil, "Cookie", b.session), 200, "idplinks")
	shows(t, call(t, b.pages, addLinkPath+"?id=i1", nil, "Cookie", b.session), 200, "idplinkadd")
	shows(t, call(t, b.pages, addLinkPath+"?id=i2", nil, "Cookie", b.session), 404, "accountgone")
	login, state := b.beginLink()
	if !b.idps.begun.Again {
		t.Error("the person need not authenticate at the provider")
	}
	leads(t, b.back(login, b.session, state, "mine"), accountPath+"/idplinks?done=true")
	all := b.users.links()
	if len(all) != 1 || all[0].Subject.UserId != "u1" || all[0].Subject.Credential != "password" ||
		all[0].Link.ConfigId != "i1" || all[0].Link.ExternalUserId != "mine" || all[0].Link.TenantId != "t1" {
		t.Fatalf("linked %v", all)
	}
	shows(t, b.back(login, b.session, state, "mine"), 400, "externalgone")
	if n := len(b.users.links()); n != 1 {
		t.Errorf("linked %d times", n)
	}
}

// Somebody whose account is not linked logs in with the password, links it, and is led on to the application.
func TestUnlinkedPeopleLinkTheirAccount(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	login, state := b.begin()
	w := b.arrive(login, "state", state, "code", "nobody")
	shows(t, w, 403, "externalunlinked")
	to := addLinkPath + "?id=i1"
	if a := element(parse(t, w.Body.String()), "a", "href", to); a == nil {
		t.Fatalf("the page does not lead to the link: %s", w.Body)
	}
	if cookie(t, w, sessionCookie) != "" {
		t.Error("there is a session")
	}
	first := call(t, b.pages, to, nil)
	leads(t, first, toLogin("/idplinks/add.i1"))
	form := named("right")
	form.Set("request", "account.idplinks/add.i1")
	in := call(t, b.pages, loginPath+"password", form)
	leads(t, in, to)
	b.session = cookie(t, in, sessionCookie)
	ask := call(t, b.pages, to, nil, "Cookie", b.session)
	shows(t, ask, 200, "idplinkadd")
	if body := ask.Body.String(); !strings.Contains(body, "Company &lt;b&gt;") ||
		!strings.Contains(body, "Ada Lovelace") {
		t.Errorf("the page does not say whose account is linked: %s", body)
	}

	// Who may be created as somebody new can link instead, and so can who would be but for the name.
	b.idps.set(&idpv1.IdpProviderOptions{IsLinkingAllowed: true, IsCreationAllowed: true})
	login, state = b.begin()
	w = b.arrive(login, "state", state, "code", "new")
	shows(t, w, 200, "externalnew")
	if element(parse(t, w.Body.String()), "a", "href", to) == nil {
		t.Errorf("the page does not lead to the link: %s", w.Body)
	}
	b.idps.set(&idpv1.IdpProviderOptions{IsLinkingAllowed: true, IsAutoCreation: true})
	login, state = b.begin()
	shows(t, b.arrive(login, "state", state, "code", "taken"), 403, "externalunlinked")
	b.idps.set(&idpv1.IdpProviderOptions{IsCreationAllowed: true})
	login, state = b.begin()
	w = b.arrive(login, "state", state, "code", "new")
	if shows(t, w, 200, "externalnew"); element(parse(t, w.Body.String()), "a", "href", to) != nil {
		t.Error("the page leads to a link that is not allowed")
	}
}

// Hostile: an account is linked only by the session that began it, while that may, and only once.
func TestRefusedLinks(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	other := cookie(t, call(t, b.pages, loginPath+"password", named("right")), sessionCookie)
	for name, session := range map[string]string{"another session": other, "no session": "a=b"} {
		login, state := b.beginLink()
		w := b.back(login, session, state, "mine")
		shows(t, w, 400, "externalgone")
		if cookie(t, w, sessionCookie) != "" {
			t.Errorf("%s: somebody is logged in", name)
		}
	}
	login, _ := b.beginLink()
	_, state := b.beginLink()
	shows(t, b.back(login, b.session, state, "mine"), 400, "externalgone")
	for account, page := range map[string]string{"taken": "externallinked", "too many": "externalfull"} {
		login, state := b.beginLink()
		w := b.back(login, b.session, state, account)
		shows(t, w, 403, page)
		if element(parse(t, w.Body.String()), "a", "href", accountPath+"/idplinks") == nil {
			t.Errorf("%s leads nowhere", page)
		}
	}
	login, state = b.beginLink()
	shows(t, b.back(login, b.session, state, "ended"), 400, "externalgone")
	for what, authTime := range map[string]int64{"no": 0, "an old": time.Now().Add(-time.Hour).Unix()} {
		login, state = b.beginLink()
		b.idps.setAuthTime(authTime)
		shows(t, b.back(login, b.session, state, "mine"), 403, "externalrefused")
		if noted := b.idps.notes(); !strings.Contains(noted[len(noted)-1], authfault.ErrExternalLinkingStale.ID) {
			t.Errorf("%s time of authentication: noted %q", what, noted)
		}
	}
	login, state = b.beginLink()
	b.idps.set(&idpv1.IdpProviderOptions{IsAutoCreation: true})
	shows(t, b.back(login, b.session, state, "mine"), 403, "externalunknown")
	if n := len(b.users.links()); n != 0 {
		t.Errorf("%d accounts are linked", n)
	}
	noted := b.idps.notes()
	if last := noted[len(noted)-1]; last != "o1/i1 "+authfault.ErrExternalLinkingRefused.ID+" t1 mine" {
		t.Errorf("noted %q", last)
	}
	w := call(t, b.pages, addLinkPath, url.Values{"id": {"i1"}}, "Cookie", b.session, "Sec-Fetch-Site", "cross-site")
	shows(t, w, 403, "foreign")
}

// Who has logged in with an account of a provider, or too long ago, is asked for the password. Nobody links an account
// of a provider that does not let them, or of another organization.
func TestWhoMayLink(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	login, state := b.begin()
	external := cookie(t, b.arrive(login, "state", state, "code", "ada"), sessionCookie)
	begins := func(session, leading string) {
		t.Helper()
		for _, form := range []url.Values{nil, {"id": {"i1"}}} {
			w := call(t, b.pages, addLinkPath+"?id=i1", form, "Cookie", session)
			leads(t, w, leading)
			if cookie(t, w, externalCookie) != "" {
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
	shows(t, b.back(login, external, state, "mine"), 400, "externalgone")
	login, state = b.beginLink()
	if _, err := b.service.DB.Exec(t.Context(),
		`update sessions set auth_time = auth_time - interval '11 minutes'`); err != nil {
		t.Fatal(err)
	}
	shows(t, b.back(login, b.session, state, "mine"), 400, "externalgone")
	begins(b.session, toLogin("/idplinks/add.i1"))
	if n := testkit.Rows(t, b.service.DB, "external_logins"); n != 0 || len(b.users.links()) != 0 {
		t.Errorf("%d logins wait, linked %v", n, b.users.links())
	}
	closed := newExternalBrowser(t)
	for _, id := range []string{"i1", "i2", ""} {
		w := call(t, closed.pages, addLinkPath, url.Values{"id": {id}}, "Cookie", closed.session)
		shows(t, w, 404, "accountgone")
	}
}
