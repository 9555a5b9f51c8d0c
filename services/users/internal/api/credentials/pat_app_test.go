package credentials_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// A personal access token that an application made in a person's name ends when the application's access ends, for
// whatever reason. What the person made, in the pages, with another application or at another login, stays. A request
// that is late makes nothing more.
func TestTokensEndWithTheAccessOfTheirApplication(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, other := w.Person(w.Admin, "mini"), w.Person(w.Admin, "maxi")
	add := func(ctx context.Context) (string, error) {
		r, err := w.Gateway.AddMyPersonalAccessToken(ctx, &usersv1.AddMyPersonalAccessTokenRequest{})
		return r.GetToken(), err
	}
	with := func(userID, clientID, authorizationID string) string {
		t.Helper()
		token, err := add(w.With(userID, clientID, authorizationID))
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	auth := testworld.Kit.Publisher(t, w.Ground, "auth")
	ends := map[string]func(authorizationID string) string{
		"consent withdrawn": func(string) string {
			return auth.Publish(w.OrgID, id, id, &authv1.ConsentWithdrawn{UserId: id, ClientId: "app"})
		},
	}
	for by, name := range authv1.AuthorizationEnd_name {
		ends[name] = func(authorizationID string) string {
			return auth.Publish(w.OrgID, authorizationID, id, &authv1.AuthorizationEnded{
				UserId: id, ClientId: "app", By: authv1.AuthorizationEnd(by),
			})
		}
	}
	for name, end := range ends {
		gone := []string{with(id, "app", name), with(id, "app", name+" before")}
		if _, err := w.Service.DB.Exec(t.Context(), `update personal_access_tokens set authorizations = '{}'
			where authorizations = array[$1]`, name+" before"); err != nil {
			t.Fatal(err)
		}
		stay := []string{with(id, "other app", "b"), with(id, "", ""), with(other, "app", "c")}
		another := with(id, "app", "another")
		if name == "consent withdrawn" {
			gone = append(gone, another)
		} else {
			stay = append(stay, another)
		}
		cause := end(name)
		testkit.Until(t, w.Service.DB, "personal_access_tokens", `not exists (select from personal_access_tokens
			where user_id = $1 and client_id = 'app' and authorizations <> '{another}')`, id)
		for i, token := range gone {
			if _, err := w.Resolve(token, ""); err == nil {
				t.Errorf("%s: token %d is there", name, i)
			}
		}
		events := w.Rows("events where aggregate = 'pat' and name = 'removed' and data->>'cause' = $1", cause)
		if events < len(gone) {
			t.Errorf("%s: %d events", name, events)
		}
		for i, token := range stay {
			if _, err := w.Resolve(token, ""); err != nil {
				t.Errorf("%s: token %d: %v", name, i, err)
			}
		}
		if name != "consent withdrawn" {
			_, err := add(w.With(id, "app", name))
			testkit.Refused(t, err, "TOKEN_INVALID")
		}
	}
}

// The lists say which application made a token.
func TestTokensNameTheirApplication(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	made, err := w.Gateway.AddMyPersonalAccessToken(w.With(id, "app", "a"), &usersv1.AddMyPersonalAccessTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Gateway.SearchMyPersonalAccessTokens(w.With(id, "", ""), &usersv1.SearchMyPersonalAccessTokensRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range r.Result {
		if (token.ClientId == "app") != (token.Id == made.TokenId) {
			t.Errorf("%v", token)
		}
	}
}
