package store_test

import (
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// of returns the event of an object, which may be an organization.
func of(id string) event.Delivery {
	return event.Delivery{ID: "cause", AggregateID: id, OrganizationID: id, Actor: "admin"}
}

// change makes an authorization another one.
type change = func(*domain.Authorization)

// own fails the test after an error.
func own(w world, err error) { w.must(err) }

// batch fails the test after an error, or if there is more to end.
func batch(w world, more bool, err error) {
	if w.must(err); more {
		w.Error("there should be no more")
	}
}

// endings are all ways in which authorizations end.
var endings = map[string]struct {
	end func(w world)
	// gone makes the authorization one that ends, and stays one that does not.
	gone, stays change
	by          string
}{
	"revoked": {end: func(w world) {
		w.must(w.End(w.Context(), domain.Authorization{ID: "gone", OrgID: "o"},
			&authv1.AuthorizationEnded{UserId: "u1", ClientId: "app", By: 1}))
	}, by: "REVOKED"},
	"logout": {end: func(w world) {
		_, err := w.EndSession(w.Context(), "o", "u1", "s1", &authv1.SessionEnded{UserId: "u1"})
		own(w, err)
	}, stays: func(a *domain.Authorization) { a.SessionID = "s2" }, by: "LOGOUT"},
	"consent withdrawn": {end: func(w world) {
		w.agree("u1", "app", "openid")
		_, err := w.WithdrawConsent(w.Context(), "u1", "app",
			&authv1.ConsentWithdrawn{UserId: "u1", ClientId: "app"})
		own(w, err)
	}, stays: func(a *domain.Authorization) { a.ClientID = "other" }, by: "TAKEN_BACK"},
	"expired": {end: func(w world) {
		more, err := w.DeleteExpired(w.Context(), keep)
		batch(w, more, err)
	}, gone: func(a *domain.Authorization) { a.ExpiresAt = now }, by: "EXPIRED"},
	"refresh token expired": {end: func(w world) {
		for id, expires := range map[string]time.Duration{"gone": 0, "stays": time.Hour} {
			_, err := w.db.Exec(w.Context(), `insert into tokens
				(hash, kind, authorization_id, scopes, issued_at, expires_at) values ($1, 2, $2, '{}', $3, $4)`,
				[]byte(id), id, now, now.Add(expires))
			w.must(err)
		}
		more, err := w.DeleteExpired(w.Context(), keep)
		batch(w, more, err)
	}, by: "EXPIRED"},
	"user changed": {end: func(w world) {
		more, err := w.EndLoginsLike(w.Context(), of("u1"), session("s1", "u1"))
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.UserGeneration = 2; a.SessionID = "s2" }, by: "CHANGED"},
	"user changed, session over": {end: func(w world) {
		logins, err := w.LoginsOfUser(w.Context(), "u1")
		w.must(err)
		if len(logins) != 2 {
			w.Errorf("%d logins", len(logins))
		}
		more, err := w.EndLoginsLike(w.Context(), of("u1"), session("none", "u1"))
		batch(w, more, err)
	}, gone: func(a *domain.Authorization) { a.SessionID = "over" },
		stays: func(a *domain.Authorization) { a.Credential = "idp:i:x"; a.SessionID = "s2" }, by: "CHANGED"},
	"user removed": {end: func(w world) {
		more, err := w.DeleteOfUser(w.Context(), of("u1"))
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.UserID, a.SessionID = "u2", "s2" }, by: "CHANGED"},
	"organization removed": {end: func(w world) {
		more, err := w.DeleteOfOrg(w.Context(), of("o"))
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.OrgID, a.SessionID = "other", "over" }, by: "CHANGED"},
	"provider removed": {end: func(w world) {
		more, err := w.DeleteOfIdp(w.Context(), of("i"))
		batch(w, more, err)
	}, gone: func(a *domain.Authorization) { a.Credential = "idp:i:x" }, by: "CHANGED"},
	"application removed": {end: func(w world) {
		more, err := w.DeleteOfClient(w.Context(), of("app"))
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.ClientID = "other" }, by: "CHANGED"},
	"application deactivated": {end: func(w world) {
		more, err := w.EndChangedApp(w.Context(), of("app"), 2)
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.ClientGeneration = 2 }, by: "CHANGED"},
	"project deactivated": {end: func(w world) {
		more, err := w.EndChangedProject(w.Context(), of("p"), 2)
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.ProjectGeneration = 2 }, by: "CHANGED"},
	"organization deactivated": {end: func(w world) {
		more, err := w.EndChangedOrg(w.Context(), of("o"), 2)
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.OrgID, a.SessionID = "other", "over" }, by: "CHANGED"},
	"organization of the application deactivated": {end: func(w world) {
		more, err := w.EndChangedOrg(w.Context(), of("oc"), 2)
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.ClientOrgGeneration = 2 }, by: "CHANGED"},
	"grant ended": {end: func(w world) {
		w.agree("u2", "app", "openid")
		more, err := w.EndGranted(w.Context(), of("grant"), domain.Project{ID: "p"}, "o")
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.UserID = "u2" }, by: "CHANGED"},
	"grant ended, agreed to less": {end: func(w world) {
		w.agree("u1", "app", "openid")
		more, err := w.EndGranted(w.Context(), of("grant"), domain.Project{ID: "p"}, "o")
		batch(w, more, err)
	}, gone: asking("openid", "profile"), stays: asking("openid", domain.ScopeService, domain.ScopeOfProject("p"),
		"urn:service:iam:org:project:role:clerk", "urn:service:iam:org:id:o"), by: "CHANGED"},
	"grant ended, agreed without a project": {end: func(w world) {
		w.agree("u1", "app", "openid", domain.ScopeOfProject("p3"))
		more, err := w.EndGranted(w.Context(), of("grant"), domain.Project{ID: "p"}, "o")
		batch(w, more, err)
	}, gone: asking("openid", domain.ScopeOfProject("p2")), stays: asking("openid", domain.ScopeOfProject("p3")),
		by: "CHANGED"},
	"grant ended of a project that checks": {end: func(w world) {
		w.agree("u1", "app", "openid")
		more, err := w.EndGranted(w.Context(), of("grant"), domain.Project{ID: "p", RoleCheck: true}, "o")
		batch(w, more, err)
	}, stays: func(a *domain.Authorization) { a.OrgID = "other" }, by: "CHANGED"},
	"grant ended of a named project": {end: func(w world) {
		more, err := w.EndGranted(w.Context(), of("grant"), domain.Project{ID: "p2"}, "oc")
		batch(w, more, err)
	}, gone: naming("p2"), stays: naming("p3"), by: "CHANGED"},
	"grant ended of a project that a person let be named": {end: func(w world) {
		more, err := w.EndGranted(w.Context(), of("grant"), domain.Project{ID: "p2"}, "o")
		batch(w, more, err)
	}, gone: naming("p2"), stays: naming("p3"), by: "CHANGED"},
	"named project deactivated": {end: func(w world) {
		more, err := w.EndChangedProject(w.Context(), of("p2"), 2)
		batch(w, more, err)
	}, gone: naming("p2"), stays: naming("p3"), by: "CHANGED"},
}

// asking returns a change of an authorization to these scopes.
func asking(scopes ...string) change { return func(a *domain.Authorization) { a.Scopes = scopes } }

// naming returns a change of an authorization whose scopes name a project too.
func naming(projectID string) change {
	return func(a *domain.Authorization) { a.Audience, a.Grounds = []string{"app", "p", projectID}, "grounds" }
}

// Whatever ends an authorization that a person gave an application writes an event, because other services end what was
// made with it. Others stay. Machines' logins end without events.
func TestEveryEndOfAnAuthorizationHasAnEvent(t *testing.T) {
	t.Parallel()
	given := domain.Authorization{
		ClientID: "app", ClientGeneration: 1, ProjectID: "p", ProjectGeneration: 1, ClientOrgID: "oc",
		ClientOrgGeneration: 1, UserID: "u1", UserGeneration: 1, OrgID: "o", OrgGeneration: 1, SessionID: "s1",
		Credential: "password", Scopes: []string{"openid"}, Audience: []string{"app"}, AMR: []string{}, AuthTime: now,
		ExpiresAt: now.Add(time.Hour),
	}
	for name, test := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.must(w.AddSession(t.Context(), []byte("cookie"), session("s1", "u1")))
			w.must(w.AddSession(t.Context(), []byte("other"), session("s2", "u3")))
			issue := func(id string, changes ...change) {
				a := given
				a.ID = id
				for _, c := range changes {
					if c != nil {
						c(&a)
					}
				}
				w.must(w.Issue(t.Context(), a, domain.Use{}, domain.NewToken{Kind: domain.KindAccess,
					Hash: secret.Hash(id), ExpiresAt: now.Add(time.Hour)}))
			}
			issue("gone", test.gone)
			issue("stays", test.stays)
			issue("machine", test.gone, func(a *domain.Authorization) {
				a.ClientID, a.ProjectID, a.ClientOrgID = a.UserID, "", ""
			})
			test.end(w)
			const ended = `events where aggregate = 'authorization' and name = 'ended'`
			if n := testkit.Rows(t, w.db, ended+` and aggregate_id = 'gone' and organization_id = 'o'
				and data @> '{"userId":"u1","clientId":"app"}' and data->>'by' = $1`,
				"AUTHORIZATION_END_"+test.by); n != 1 {
				t.Errorf("%d events", n)
			}
			if n := testkit.Rows(t, w.db, ended); n != 1 {
				t.Errorf("%d ends in all", n)
			}
			if n := testkit.Rows(t, w.db, "authorizations where id = 'gone'"); n != 0 {
				t.Error("it is there")
			}
			if n := testkit.Rows(t, w.db, "authorizations where id = 'stays'"); n != 1 {
				t.Error("the other one is gone")
			}
		})
	}
}
