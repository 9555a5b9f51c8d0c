package auth

import (
	"context"
	"net/http/httptest"
	"net/url"
	"testing"

	"herald/shared/fault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func (u *users) LinkExternalAccount(
	_ context.Context, r *usersv1.LinkExternalAccountRequest,
) (*usersv1.LinkExternalAccountResponse, error) {
	if r.Link.ExternalUserId == "taken" {
		return nil, fault.New(fault.Exists, "IDP_LINK_TAKEN", "Another user is linked to that account")
	}
	u.called(r)
	return &usersv1.LinkExternalAccountResponse{}, nil
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
	b.idps.options = &idpv1.IdpProviderOptions{IsLinkingAllowed: true}
	return b
}

// beginLink begins to link an account.
func (b externalBrowser) beginLink() (login, state string) {
	b.Helper()
	w := call(b.T, b.pages, addLinkPath, url.Values{"idp": {"i1"}}, "Cookie", b.session)
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
	shows(t, call(t, b.pages, addLinkPath+"?idp=i1", nil, "Cookie", b.session), 200, "idplinkadd")
	shows(t, call(t, b.pages, addLinkPath+"?idp=i2", nil, "Cookie", b.session), 404, "accountgone")
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

// Hostile: nobody links an account to somebody else, or with an old login.
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
	login, state := b.beginLink()
	shows(t, b.back(login, b.session, state, "taken"), 403, "externallinked")
	login, state = b.beginLink()
	b.idps.mu.Lock()
	b.idps.options = &idpv1.IdpProviderOptions{IsAutoCreation: true}
	b.idps.mu.Unlock()
	shows(t, b.back(login, b.session, state, "mine"), 403, "externalrefused")
	if n := len(b.users.links()); n != 0 {
		t.Errorf("%d accounts are linked", n)
	}
}

// Who has logged in with an account of a provider, or too long ago, links none. Neither does who may not.
func TestWhoMayLink(t *testing.T) {
	t.Parallel()
	b := newLinking(t)
	login, state := b.begin()
	external := cookie(t, b.arrive(login, "state", state, "code", "ada"), sessionCookie)
	post := func(session string) *httptest.ResponseRecorder {
		return call(t, b.pages, addLinkPath, url.Values{"idp": {"i1"}}, "Cookie", session)
	}
	shows(t, post(external), 404, "accountgone")
	login, state = b.beginLink()
	if _, err := b.service.DB.Exec(t.Context(),
		`update sessions set auth_time = auth_time - interval '11 minutes'`); err != nil {
		t.Fatal(err)
	}
	shows(t, b.back(login, b.session, state, "mine"), 400, "externalgone")
	if w := post(b.session); w.Code != 303 || cookie(t, w, externalCookie) != "" {
		t.Errorf("an old login gets %d", w.Code)
	}
	if n := testkit.Rows(t, b.service.DB, "external_logins"); n != 0 || len(b.users.links()) != 0 {
		t.Errorf("%d logins wait, linked %v", n, b.users.links())
	}
	closed := newExternalBrowser(t)
	shows(t, call(t, closed.pages, addLinkPath, url.Values{"idp": {"i1"}}, "Cookie", closed.session), 404,
		"accountgone")
}
