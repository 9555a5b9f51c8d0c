package auth

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/shared/boot"
	"herald/shared/caller"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	textv1 "herald/shared/gen/herald/text/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// browsers is the running service with its pages, its database and a user who logs in.
type browsers struct {
	*testing.T
	ground boot.Ground
	pages  edge
	users  *users
	store  store.Store
	db     *pgxpool.Pool
}

func newBrowsers(t *testing.T) browsers {
	t.Helper()
	return newBrowsersAt(t, time.Now)
}

// newBrowsersAt does the same for services with their own time.
func newBrowsersAt(t *testing.T, now func() time.Time) browsers {
	t.Helper()
	g, u := testkit.Ground(t), &users{}
	g.Now = now
	address, err := boot.ParsePublicURL(public)
	if err != nil {
		t.Fatal(err)
	}
	g.PublicURL = address
	s := kit.Open(t, g)
	shareKeys(t, s)
	if err := New(t.Context(), s, Config{MaxLimit: 3, SigningKeyDays: 90}); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, s)
	serveUsers(t, g, u)
	testkit.Serve(t, g, "text", newText(), &textv1.Text_ServiceDesc)
	return browsers{t, g, edge{authv1.NewAuthClient(testkit.Calls(t, g, "gateway"))}, u, store.New(s.Journal), s.DB}
}

// as is the context of a user who logged in so long ago.
func (b browsers) as(userID string, ago time.Duration) context.Context {
	return testkit.As(b.Context(), b.ground, caller.Caller{
		UserID: userID, OrganizationID: "o1", HomeOrganizationID: "o1", AuthenticatedAt: time.Now().Add(-ago),
	})
}

// login logs the user in with a new browser, and returns its cookie.
func (b browsers) login(agent string) string {
	b.Helper()
	w := call(b.T, b.pages, loginPath+"password", named("right"), "User-Agent", agent)
	if w.Code != http.StatusSeeOther {
		b.Fatal(w.Code, w.Body)
	}
	return cookie(b.T, w, sessionCookie)
}

// list returns a page of a user's sessions.
func (b browsers) list(userID string, q *heraldv1.ListQuery) *authv1.SearchMySessionsResponse {
	b.Helper()
	r, err := b.pages.auth.SearchMySessions(b.as(userID, 24*time.Hour), &authv1.SearchMySessionsRequest{Query: q})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b browsers) end(ctx context.Context, id string) error {
	_, err := b.pages.auth.RemoveMySession(ctx, &authv1.RemoveMySessionRequest{SessionId: id})
	return err
}

func agents(r *authv1.SearchMySessionsResponse) (all []string) {
	for _, s := range r.Result {
		all = append(all, s.UserAgent)
	}
	return all
}

// People see their own sessions, a page at a time, and nobody else's. A change that ends the logins ends the list.
func TestListingSessions(t *testing.T) {
	t.Parallel()
	b := newBrowsers(t)
	before := time.Now().Add(-time.Second)
	for _, agent := range []string{"first", "second", "third"} {
		b.login(agent)
	}
	all := b.list("u1", nil)
	if all.Details.GetTotalResult() != 3 || !slices.Equal(agents(all), []string{"third", "second", "first"}) {
		t.Errorf("%v", all)
	}
	s := all.Result[0]
	if s.Id == "" || s.ClientAddress == "" || !slices.Equal(s.Amr, []string{"pwd"}) ||
		s.CreationDate.AsTime().Before(before) || !proto.Equal(s.LastUsedDate, s.CreationDate) ||
		!s.ExpirationDate.AsTime().Equal(s.CreationDate.AsTime().Add(domain.SessionLifetime)) {
		t.Errorf("%v", s)
	}
	page := b.list("u1", &heraldv1.ListQuery{Offset: 1, Limit: 1, Asc: true})
	if got := agents(page); page.Details.GetTotalResult() != 3 || !slices.Equal(got, []string{"second"}) {
		t.Errorf("the second page is %v", page)
	}
	_, err := b.pages.auth.SearchMySessions(b.as("u1", 0),
		&authv1.SearchMySessionsRequest{Query: &heraldv1.ListQuery{Limit: 4}})
	testkit.Refused(t, err, "LIMIT_EXCEEDED")
	if other := b.list("u2", nil); other.Details.GetTotalResult() != 0 || len(other.Result) != 0 {
		t.Errorf("another user sees %v", other)
	}
	b.users.change()
	if ended := b.list("u1", nil); ended.Details.GetTotalResult() != 0 {
		t.Errorf("after a change of the user there are %v", ended)
	}
}

// The list says from which browser a session was last used, to a minute.
func TestLastUseOfASession(t *testing.T) {
	t.Parallel()
	b := newBrowsers(t)
	session := b.login("at the login")
	visit := func(agent string) *authv1.Session {
		t.Helper()
		shows(t, call(t, b.pages, loginPath, nil, "Cookie", session, "User-Agent", agent), 200, "session")
		return b.list("u1", nil).Result[0]
	}
	s := visit("at once")
	if s.UserAgent != "at the login" || !proto.Equal(s.LastUsedDate, s.CreationDate) {
		t.Errorf("at once: %v", s)
	}
	ago := time.Now().Add(-time.Hour)
	if err := b.store.UseSession(t.Context(), domain.Session{ID: s.Id, UserID: "u1", UsedAt: ago}); err != nil {
		t.Fatal(err)
	}
	s = visit(strings.Repeat("later", 100))
	if s.UserAgent != strings.Repeat("later", 40) || s.ClientAddress == "" ||
		s.LastUsedDate.AsTime().Before(s.CreationDate.AsTime()) {
		t.Errorf("an hour later: %v", s)
	}
}

// Whoever ends a session ends its cookie and all that applications got with it, and no other session.
func TestEndingASession(t *testing.T) {
	t.Parallel()
	b := newBrowsers(t)
	kept, lost := b.login("kept"), b.login("lost")
	tokens := map[string]string{}
	for _, s := range b.list("u1", nil).Result {
		a := domain.Authorization{ID: "of " + s.Id, UserID: "u1", SessionID: s.Id, Scopes: []string{},
			Audience: []string{}, AMR: []string{}, AuthTime: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
		tokens[s.UserAgent] = s.Id
		if err := b.store.Issue(t.Context(), a, domain.Use{}, domain.NewToken{Kind: domain.KindAccess,
			Hash: secret.Hash(s.Id), ExpiresAt: a.ExpiresAt}); err != nil {
			t.Fatal(err)
		}
	}
	id := tokens["lost"]
	testkit.Refused(t, b.end(b.as("u1", 11*time.Minute), id), "FRESH_LOGIN_REQUIRED")
	foreign, missing := b.end(b.as("u2", 0), id), b.end(b.as("u1", 0), "missing")
	testkit.Refused(t, foreign, "SESSION_NOT_FOUND")
	if f, m := fault.From(foreign), fault.From(missing); f.Code != m.Code || f.ID != m.ID || f.Message != m.Message {
		t.Errorf("of somebody else: %v, missing: %v", foreign, missing)
	}
	shows(t, call(t, b.pages, loginPath, nil, "Cookie", lost), 200, "session")
	r, err := b.pages.auth.RemoveMySession(b.as("u1", 0), &authv1.RemoveMySessionRequest{SessionId: id})
	if err != nil || r.Details.GetResourceOwner() != "o1" || r.Details.GetSequence() == 0 {
		t.Fatal(r, err)
	}
	testkit.Refused(t, b.end(b.as("u1", 0), id), "SESSION_NOT_FOUND")
	shows(t, call(t, b.pages, loginPath, nil, "Cookie", lost), 200, "login")
	shows(t, call(t, b.pages, loginPath, nil, "Cookie", kept), 200, "session")
	for agent, alive := range map[string]bool{"kept": true, "lost": false} {
		_, err := b.store.Token(t.Context(), domain.KindAccess, secret.Hash(tokens[agent]))
		if (err == nil) != alive {
			t.Errorf("the token of %q: %v", agent, err)
		}
	}
	if got := agents(b.list("u1", nil)); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("left are %q", got)
	}
}
