package api_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// People see their own sessions, a page at a time, and nobody else's. A change that ends the logins ends the list.
func TestListingSessions(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	before := time.Now().Add(-time.Second)
	for _, agent := range []string{"first", "second", "third"} {
		b.Login(agent)
	}
	all := b.List("u1", nil)
	if all.Details.GetTotalResult() != 3 || !slices.Equal(testworld.Agents(all), []string{"third", "second", "first"}) {
		t.Errorf("%v", all)
	}
	s := all.Result[0]
	if s.Id == "" || s.ClientAddress == "" || !slices.Equal(s.Amr, []string{"pwd"}) ||
		s.CreationDate.AsTime().Before(before) || !proto.Equal(s.LastUsedDate, s.CreationDate) ||
		!s.ExpirationDate.AsTime().Equal(s.CreationDate.AsTime().Add(domain.SessionLifetime)) {
		t.Errorf("%v", s)
	}
	page := b.List("u1", &heraldv1.ListQuery{Offset: 1, Limit: 1, Asc: true})
	if got := testworld.Agents(page); page.Details.GetTotalResult() != 3 || !slices.Equal(got, []string{"second"}) {
		t.Errorf("the second page is %v", page)
	}
	_, err := b.Pages.Auth.SearchMySessions(b.As("u1", 0),
		&authv1.SearchMySessionsRequest{Query: &heraldv1.ListQuery{Limit: 4}})
	testkit.Refused(t, err, "LIMIT_EXCEEDED")
	if other := b.List("u2", nil); other.Details.GetTotalResult() != 0 || len(other.Result) != 0 {
		t.Errorf("another user sees %v", other)
	}
	b.Users.Change()
	if ended := b.List("u1", nil); ended.Details.GetTotalResult() != 0 {
		t.Errorf("after a change of the user there are %v", ended)
	}
}

// The list has the browser and the minute of a session's last use.
func TestLastUseOfASession(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	session := b.Login("at the login")
	visit := func(agent string) *authv1.Session {
		t.Helper()
		testworld.Shows(t, testworld.Call(t, b.Pages, testworld.LoginPath, nil, "Cookie", session, "User-Agent", agent),
			200, "session")
		return b.List("u1", nil).Result[0]
	}
	s := visit("at once")
	if s.UserAgent != "at the login" || !proto.Equal(s.LastUsedDate, s.CreationDate) {
		t.Errorf("at once: %v", s)
	}
	ago := time.Now().Add(-time.Hour)
	if err := b.Store.UseSession(t.Context(), domain.Session{ID: s.Id, UserID: "u1", UsedAt: ago}); err != nil {
		t.Fatal(err)
	}
	s = visit(strings.Repeat("later", 100))
	if s.UserAgent != strings.Repeat("later", 40) || s.ClientAddress == "" ||
		s.LastUsedDate.AsTime().Before(s.CreationDate.AsTime()) {
		t.Errorf("an hour later: %v", s)
	}
}

// The end of a session ends its cookie and all tokens that applications got in it, and no other session.
func TestEndingASession(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	kept, lost := b.Login("kept"), b.Login("lost")
	tokens := map[string]string{}
	for _, s := range b.List("u1", nil).Result {
		a := domain.Authorization{ID: "of " + s.Id, UserID: "u1", SessionID: s.Id, Scopes: []string{},
			Audience: []string{}, AMR: []string{}, AuthTime: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
		tokens[s.UserAgent] = s.Id
		if err := b.Store.Issue(t.Context(), a, domain.Use{}, domain.NewToken{Kind: domain.KindAccess,
			Hash: secret.Hash(s.Id), ExpiresAt: a.ExpiresAt}); err != nil {
			t.Fatal(err)
		}
	}
	id := tokens["lost"]
	testkit.Refused(t, b.End(b.As("u1", 11*time.Minute), id), "FRESH_LOGIN_REQUIRED")
	foreign, missing := b.End(b.As("u2", 0), id), b.End(b.As("u1", 0), "missing")
	testkit.Refused(t, foreign, "SESSION_NOT_FOUND")
	if f, m := fault.From(foreign), fault.From(missing); f.Code != m.Code || f.ID != m.ID || f.Message != m.Message {
		t.Errorf("of somebody else: %v, missing: %v", foreign, missing)
	}
	testworld.Shows(t, testworld.Call(t, b.Pages, testworld.LoginPath, nil, "Cookie", lost), 200, "session")
	r, err := b.Pages.Auth.RemoveMySession(b.As("u1", 0), &authv1.RemoveMySessionRequest{SessionId: id})
	if err != nil || r.Details.GetResourceOwner() != "o1" || r.Details.GetSequence() == 0 {
		t.Fatal(r, err)
	}
	testkit.Refused(t, b.End(b.As("u1", 0), id), "SESSION_NOT_FOUND")
	testworld.Shows(t, testworld.Call(t, b.Pages, testworld.LoginPath, nil, "Cookie", lost), 200, "login")
	testworld.Shows(t, testworld.Call(t, b.Pages, testworld.LoginPath, nil, "Cookie", kept), 200, "session")
	for agent, alive := range map[string]bool{"kept": true, "lost": false} {
		_, err := b.Store.Token(t.Context(), domain.KindAccess, secret.Hash(tokens[agent]))
		if (err == nil) != alive {
			t.Errorf("the token of %q: %v", agent, err)
		}
	}
	if got := testworld.Agents(b.List("u1", nil)); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("left are %q", got)
	}
}

// Administrators see since when, how, with which browser and from which network people are logged in. They do not see
// the address.
func TestAdministratorsSeeSessions(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	b.Login("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
	b.Login("second")
	if _, err := b.DB.Exec(t.Context(), "update sessions set client = '203.0.113.77'"); err != nil {
		t.Fatal(err)
	}
	search := func(ctx context.Context, userID string, q *heraldv1.ListQuery) (*authv1.SearchSessionsResponse, error) {
		return b.Pages.Auth.SearchSessions(ctx, &authv1.SearchSessionsRequest{UserId: userID, Query: q})
	}
	viewer := b.Administrator("admin", "o1", "ORG_OWNER_VIEWER")
	all, err := search(viewer, "u1", nil)
	if err != nil || all.Details.GetTotalResult() != 2 || all.Result[0].Browser != "second" {
		t.Fatal(all, err)
	}
	own := b.List("u1", nil).Result
	for i, s := range all.Result {
		want := proto.CloneOf(own[i])
		if want.ClientAddress == "" || want.Network != "203.0.113.0/24" || want.UserAgent == "" || want.Browser == "" {
			t.Errorf("the person sees %v", want)
		}
		want.ClientAddress, want.UserAgent = "", ""
		if !proto.Equal(s, want) {
			t.Errorf("%v, want %v", s, want)
		}
	}
	page, err := search(viewer, "u1", &heraldv1.ListQuery{Limit: 1, Asc: true})
	if err != nil || page.Details.GetTotalResult() != 2 || len(page.Result) != 1 ||
		page.Result[0].Browser != "Firefox, Linux" {
		t.Error(page, err)
	}
	_, err = search(viewer, "u1", &heraldv1.ListQuery{Limit: 4})
	testkit.Refused(t, err, "LIMIT_EXCEEDED")
	_, err = search(b.As("u1", 0), "u1", nil)
	testkit.Refused(t, err, "PERMISSION_DENIED", "user.read")
	_, err = search(b.Administrator("admin", "o2", "ORG_OWNER"), "u1", nil)
	testkit.Refused(t, err, "USER_NOT_FOUND")
}

// Administrators end sessions of people who have no permission that they lack. The events name them.
func TestAdministratorsEndSessions(t *testing.T) {
	t.Parallel()
	b := testworld.NewBrowsers(t)
	cookies := []string{b.Login("first"), b.Login("second"), b.Login("third")}
	id := b.List("u1", nil).Result[0].Id
	end := func(ctx context.Context, userID, id string) (*authv1.RemoveSessionResponse, error) {
		return b.Pages.Auth.RemoveSession(ctx, &authv1.RemoveSessionRequest{UserId: userID, SessionId: id})
	}
	endAll := func(ctx context.Context, userID string) (*authv1.RemoveAllSessionsResponse, error) {
		return b.Pages.Auth.RemoveAllSessions(ctx, &authv1.RemoveAllSessionsRequest{UserId: userID})
	}
	as := func(userID, orgID, role string) context.Context { return b.Administrator(userID, orgID, role) }
	owner := as("admin", "o1", "ORG_OWNER")
	for name, test := range map[string]struct {
		as           context.Context
		userID, want string
	}{
		"the person":                        {b.As("u1", 0), "u1", "PERMISSION_DENIED"},
		"somebody who only reads":           {as("admin", "o1", "ORG_OWNER_VIEWER"), "u1", "PERMISSION_DENIED"},
		"a manager of users":                {as("admin", "o1", "ORG_USER_MANAGER"), "u1", "PERMISSION_DENIED"},
		"an owner, on who has more":         {owner, "above", "ESCALATION"},
		"the owner of another organization": {as("admin", "o2", "ORG_OWNER"), "u1", "USER_NOT_FOUND"},
		"a program of an owner, on itself":  {as("u1", "o1", "ORG_OWNER"), "u1", "FRESH_LOGIN_REQUIRED"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := end(test.as, test.userID, id)
			testkit.Refused(t, err, strings.Replace(test.want, "USER", "SESSION", 1))
			_, err = endAll(test.as, test.userID)
			testkit.Refused(t, err, test.want)
		})
	}
	_, err := end(owner, "u2", id)
	testkit.Refused(t, err, "SESSION_NOT_FOUND")
	if all, err := endAll(owner, "u2"); err != nil || all.Ended != 0 {
		t.Error(all, err)
	}
	left := func(want ...string) {
		t.Helper()
		if got := testworld.Agents(b.List("u1", nil)); !slices.Equal(got, want) {
			t.Errorf("left are %q, want %q", got, want)
		}
	}
	left("third", "second", "first")
	r, err := end(owner, "u1", id)
	if err != nil || r.Details.GetResourceOwner() != "o1" || r.Details.GetSequence() == 0 {
		t.Fatal(r, err)
	}
	left("second", "first")
	_, err = end(owner, "u1", id)
	testkit.Refused(t, err, "SESSION_NOT_FOUND")
	for _, want := range []uint32{2, 0} {
		if all, err := endAll(owner, "u1"); err != nil || all.Ended != want {
			t.Errorf("%v, %v, want %d", all, err, want)
		}
	}
	left()
	for _, cookie := range cookies {
		testworld.Shows(t, testworld.Call(t, b.Pages, testworld.LoginPath, nil, "Cookie", cookie), 200, "login")
	}
	if n := testkit.Rows(t, b.DB, `events where aggregate = 'session' and name = 'ended' and actor = 'admin'
		and organization_id = 'o1' and data->>'userId' = 'u1'`); n != 3 {
		t.Errorf("%d events", n)
	}
}
