package authn_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"herald/gateway/internal/testworld"
	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/resource"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// login is the caller of a token that was issued to an application.
var login = caller.Caller{
	UserID: "u1", OrganizationID: "o1", HomeOrganizationID: "o1", Scopes: []string{"openid", contract.Audience},
	Memberships: []caller.Membership{{OrganizationID: "o1", Roles: []string{"ORG_OWNER"}}},
	ClientID:    "a1", ClientProjectID: "p1", Credential: "key:k1",
}

const jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ1MSJ9.c2lnbmF0dXJl"

// Tokens that are not personal access tokens are resolved by the service auth, and are cached as others are.
func TestAccessTokensAreResolvedByAuth(t *testing.T) {
	t.Parallel()
	opaque := secret.AccessToken.New().Reveal()
	for token, want := range map[string]*authv1.ResolveTokenRequest{
		opaque: {Token: &authv1.ResolveTokenRequest_TokenHash{TokenHash: secret.Hash(opaque)}},
		jwt:    {Token: &authv1.ResolveTokenRequest_Jwt{Jwt: jwt}},
	} {
		w := testworld.Start(t)
		get := func(pairs ...string) testworld.Answer {
			return w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token, pairs...)...)
		}
		asked := func(n int) {
			t.Helper()
			if got := w.Auth.Questions(); len(got) != n || !proto.Equal(got[n-1], want) {
				t.Errorf("asked %v, want %d times %v", got, n, want)
			}
		}
		get().Refused(t, 401, "UNAUTHENTICATED")
		asked(1)
		w.Auth.Issue(token, login) // a refusal is not kept
		get().OK(t)
		asked(2)
		if w.Caller.ClientID != "a1" || w.Caller.ClientProjectID != "p1" || w.Caller.Credential != "key:k1" ||
			w.Caller.UserID != "u1" || w.Caller.TokenID != "" {
			t.Errorf("the service was called by %+v", w.Caller)
		}
		get().OK(t)
		asked(2)
		w.FailWith(func(context.Context) error { return fault.ErrPermissionDenied })
		get().Refused(t, 403, "PERMISSION_DENIED") // who is cached and refused is asked for once more
		asked(3)
		w.FailWith(nil)
		w.Clock.Advance(2 * time.Second)
		get().OK(t)
		asked(4)
		want.OrgId = "o2"
		get("x-service-orgid", "o2").OK(t)
		asked(5)
		if n := w.Resolved.Load(); n != 0 {
			t.Errorf("users was asked %d times", n)
		}
		if lines := w.Lines.String(); lines == "" || strings.Contains(lines, token) {
			t.Error("the token is in the log, or nothing is")
		}
	}
}

// A request with a personal access token does not need the service auth.
func TestOnlyAccessTokensNeedAuth(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := secret.AccessToken.New().Reveal()
	w.Auth.Issue(token, login)
	w.Auth.Issue(jwt, login)
	w.Services[1].Stop()
	for _, away := range []string{token, jwt} {
		got := w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(away)...)
		if got.Refused(t, 503, "UNAVAILABLE"); got.Header.Get("Retry-After") != "1" {
			t.Error(got.Header)
		}
	}
	w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(w.Owner())...).OK(t)
}

// After an event about an application or its project, its tokens are asked for again, and no others.
func TestEventEndsCachedTokensOfApplication(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Clock.Stop()
	projects := testkit.Connect(t, w.Ground, "projects")
	other := login
	other.ClientID, other.ClientProjectID = "a2", "p2"
	for kind, about := range map[string]string{
		"application.deactivated": "a1", "application.removed": "a1", "application.changed": "a1",
		"project.deactivated": "p1", "project.removed": "p1",
	} {
		for _, subject := range []string{"events.projects." + kind + ".o1", "outbox.projects"} {
			one, two, own := secret.AccessToken.New().Reveal(), secret.AccessToken.New().Reveal(), w.Owner()
			get := func(token string) int {
				return w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token)...).StatusCode
			}
			w.Auth.Issue(one, login)
			w.Auth.Issue(two, other)
			if get(one) != 200 || get(two) != 200 || get(own) != 200 {
				t.Fatal("not let in")
			}
			w.Auth.End(one)
			w.Auth.End(two)
			w.Revoke(own)
			if err := projects.PublishMsg(&nats.Msg{Subject: subject, Data: []byte(`{}`), Header: nats.Header{
				"ce-id": {resource.NewID()}, "ce-type": {"herald.projects." + kind + ".v1"}, "ce-subject": {about},
			}}); err != nil {
				t.Fatal(err)
			}
			published := time.Now()
			for get(one) != 401 { // until the message has been handled
				if time.Since(published) > 30*time.Second {
					t.Fatalf("%s on %s: the token was accepted long after the message", kind, subject)
				}
			}
			if get(two) != 200 || get(own) != 200 {
				t.Errorf("%s on %s ended others' tokens", kind, subject)
			}
		}
	}
}

// After the end of a grant of a project that a login named, its tokens are asked for again, also those of machines,
// whose end has no event.
func TestEndOfAGrantEndsCachedTokensThatNameTheProject(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Clock.Stop()
	projects := testkit.Connect(t, w.Ground, "projects")
	machine := login
	machine.ClientID, machine.ClientProjectID = "", ""
	for name, of := range map[string]caller.Caller{"application": login, "machine": machine} {
		t.Run(name, func(t *testing.T) {
			one, two := secret.AccessToken.New().Reveal(), secret.AccessToken.New().Reveal()
			get := func(token string) int {
				return w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token)...).StatusCode
			}
			w.Auth.Issue(one, of)
			w.Auth.Issue(two, of)
			w.Auth.Projects = []string{"named"}
			first := get(one)
			w.Auth.Projects = nil
			if first != 200 || get(two) != 200 {
				t.Fatal("not let in")
			}
			w.Auth.End(one)
			w.Auth.End(two)
			ended := &nats.Msg{Subject: "events.projects.project_grant.ended.o2", Header: nats.Header{
				"ce-id": {resource.NewID()}, "ce-subject": {"g1"},
				"ce-type": {"herald.projects.project_grant.ended.v1"},
			}, Data: []byte(`{"projectId":"named"}`)}
			if err := projects.PublishMsg(ended); err != nil {
				t.Fatal(err)
			}
			for published := time.Now(); get(one) != 401; { // until the message has been handled
				if time.Since(published) > 30*time.Second {
					t.Fatal("the token was accepted long after the message")
				}
			}
			if get(two) != 200 {
				t.Error("a token ended that does not name the project")
			}
		})
	}
}

// A token of an application with web pages is refused to the pages of other origins.
func TestTokensAreForTheirOrigins(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Auth.Origins = []string{"https://shop.example", "http://localhost:3000"}
	token := secret.AccessToken.New().Reveal()
	w.Auth.Issue(token, login)
	get := func(pairs ...string) testworld.Answer {
		return w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token, pairs...)...)
	}
	for range 2 { // the second time it is cached
		get().OK(t)
		get("Origin", "https://shop.example").OK(t)
		get("Origin", "http://localhost:3000").OK(t)
		for _, origin := range []string{
			"https://evil.example", "http://shop.example", "https://shop.example:444", "null",
		} {
			get("Origin", origin).Refused(t, 403, "ORIGIN_NOT_ALLOWED")
		}
	}
	w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(w.Owner(), "Origin", "https://evil.example")...).OK(t)
}
