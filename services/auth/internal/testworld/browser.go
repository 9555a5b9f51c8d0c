package testworld

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/auth/internal/store"
	"herald/shared/boot"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// Browsers is the running service with its pages, its database and a user who logs in.
type Browsers struct {
	*testing.T
	Ground boot.Ground
	Pages  Edge
	Users  *Users
	Store  store.Store
	DB     *pgxpool.Pool
}

// NewBrowsers runs the service.
func NewBrowsers(t *testing.T) Browsers {
	t.Helper()
	return NewBrowsersAt(t, time.Now)
}

// NewBrowsersAt does the same for services with their own time.
func NewBrowsersAt(t *testing.T, now func() time.Time) Browsers {
	t.Helper()
	g, u := testkit.Ground(t), &Users{}
	g.Now = now
	s := Start(t, g, Public, 3)
	ServeUsers(t, g, u)
	ServeText(t, g)
	return Browsers{t, g, NewEdge(t, g), u, store.New(s.Journal), s.DB}
}

// As is the context of a user who logged in so long ago.
func (b Browsers) As(userID string, ago time.Duration) context.Context {
	return testkit.As(b.Context(), b.Ground, caller.Caller{
		UserID: userID, OrganizationID: "o1", HomeOrganizationID: "o1", AuthenticatedAt: time.Now().Add(-ago),
	})
}

// Administrator is the context of a program with roles in an organization.
func (b Browsers) Administrator(userID, orgID string, roles ...string) context.Context {
	return testkit.As(b.Context(), b.Ground, caller.Caller{
		UserID: userID, OrganizationID: orgID, HomeOrganizationID: orgID,
		Memberships: []caller.Membership{{OrganizationID: orgID, Roles: roles}},
	})
}

// Login logs the user in with a new browser, and returns its cookie.
func (b Browsers) Login(agent string) string {
	b.Helper()
	w := Call(b.T, b.Pages, LoginPath+"password", Named("right"), "User-Agent", agent)
	if w.Code != http.StatusSeeOther {
		b.Fatal(w.Code, w.Body)
	}
	return Cookie(b.T, w, SessionCookie)
}

// List returns a page of a user's sessions.
func (b Browsers) List(userID string, q *heraldv1.ListQuery) *authv1.SearchMySessionsResponse {
	b.Helper()
	r, err := b.Pages.Auth.SearchMySessions(b.As(userID, 24*time.Hour), &authv1.SearchMySessionsRequest{Query: q})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// End ends a session as the person whose context it is.
func (b Browsers) End(ctx context.Context, id string) error {
	_, err := b.Pages.Auth.RemoveMySession(ctx, &authv1.RemoveMySessionRequest{SessionId: id})
	return err
}

// Agents returns the user agents of sessions, in their order.
func Agents(r *authv1.SearchMySessionsResponse) (all []string) {
	for _, s := range r.Result {
		all = append(all, s.UserAgent)
	}
	return all
}

// Enter makes a client one that is notified of the end of the newest session. The session's user had that generation.
func (b Browsers) Enter(clientID string, generation int) {
	b.Helper()
	if _, err := b.DB.Exec(b.Context(), `with newest as (
			update sessions set user_generation = $2
			where id = (select id from sessions order by created_at desc limit 1)
			returning id
		)
		insert into session_clients select id, $1, 'o2' from newest`, clientID, generation); err != nil {
		b.Fatal(err)
	}
}
