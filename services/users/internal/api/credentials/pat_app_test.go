package credentials_test

import (
	"testing"

	"herald/services/users/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// A personal access token that an application made in a person's name ends when the application's access ends, for
// whatever reason. What the person made, in the pages or with another application, stays.
func TestTokensEndWithTheAccessOfTheirApplication(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, other := w.Person(w.Admin, "mini"), w.Person(w.Admin, "maxi")
	with := func(userID, clientID string) string {
		t.Helper()
		c := w.Caller(w.Admin, userID, "")
		c.AuthenticatedAt, c.TokenID, c.ClientID = w.Ground.Now(), "", clientID
		r, err := w.Gateway.AddMyPersonalAccessToken(w.As(c), &usersv1.AddMyPersonalAccessTokenRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Token
	}
	auth := testworld.Kit.Publisher(t, w.Ground, "auth")
	ends := map[string]func() string{
		"consent withdrawn": func() string {
			return auth.Publish(w.OrgID, id, id, &authv1.ConsentWithdrawn{UserId: id, ClientId: "app"})
		},
	}
	for by, name := range authv1.AuthorizationEnd_name {
		ends[name] = func() string {
			return auth.Publish(w.OrgID, "authorization", id, &authv1.AuthorizationEnded{
				UserId: id, ClientId: "app", By: authv1.AuthorizationEnd(by),
			})
		}
	}
	for name, end := range ends {
		gone := with(id, "app")
		stay := []string{with(id, "other app"), with(id, ""), with(other, "app")}
		cause := end()
		testkit.Until(t, w.Service.DB, "personal_access_tokens",
			"not exists (select from personal_access_tokens where user_id = '"+id+"' and client_id = 'app')")
		_, err := w.Resolve(gone, "")
		testkit.Refused(t, err, "TOKEN_INVALID")
		if n := w.Rows("events where aggregate = 'pat' and name = 'removed' and data->>'cause' = $1", cause); n != 1 {
			t.Errorf("%s: %d events", name, n)
		}
		for i, token := range stay {
			if _, err := w.Resolve(token, ""); err != nil {
				t.Errorf("%s: token %d: %v", name, i, err)
			}
		}
	}
}
