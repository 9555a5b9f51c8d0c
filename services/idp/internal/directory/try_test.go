package directory_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"herald/services/idp/internal/domain"
	"herald/shared/secret"
	"herald/shared/testkit/outside"
)

// answer returns a handler that answers with a status and a redirect, and with a text that no finding may repeat.
func answer(status int, location string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if location != "" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("private text of the directory"))
	}
}

// A test finds the setting that is wrong, or says that it is none, and tells nothing of what the directory answers.
func TestTestNamesTheWrongSetting(t *testing.T) {
	t.Parallel()
	const metadata, keys, client, login = domain.TestMetadata, domain.TestKeys, domain.TestClient, domain.TestLogin
	tenant := []string{"tenant"}
	for name, c := range map[string]struct {
		what    string
		handler http.HandlerFunc
		secret  string
		wrong   domain.TestStep // 0 if all is well
		want    []string
		steps   int
	}{
		"all is well":         {secret: outside.ClientSecret, steps: 4},
		"unknown tenant":      {outside.Metadata, answer(404, ""), outside.ClientSecret, metadata, tenant, 1},
		"refused tenant":      {outside.Metadata, answer(400, ""), outside.ClientSecret, metadata, tenant, 1},
		"directory is away":   {outside.Metadata, answer(503, ""), outside.ClientSecret, metadata, nil, 1},
		"no keys":             {outside.Keys, answer(404, ""), outside.ClientSecret, keys, nil, 4},
		"wrong secret":        {"", nil, "another", client, []string{"clientId", "clientSecret"}, 4},
		"token endpoint away": {outside.Token, answer(503, ""), outside.ClientSecret, client, nil, 4},
		"redirect URI": {outside.Authorize, answer(400, ""), outside.ClientSecret, login,
			[]string{"redirectUri", "clientId"}, 4},
		"scope": {outside.Authorize, answer(302, "https://herald.example/?error=invalid_scope"), outside.ClientSecret,
			login, []string{"scopes"}, 4},
		"client without logins": {outside.Authorize, answer(302, "https://herald.example/?error=unauthorized_client"),
			outside.ClientSecret, login, []string{"clientId"}, 4},
		"login page":      {outside.Authorize, answer(200, ""), outside.ClientSecret, 0, nil, 4},
		"login page away": {outside.Authorize, answer(500, ""), outside.ClientSecret, login, nil, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.handler != nil {
				w.Replace(c.what, c.handler)
			}
			found := w.herald.Test(t.Context(), provider(domain.Tenant{TenantID: outside.Company}),
				secret.NewText(c.secret))
			if len(found) != c.steps {
				t.Errorf("%d steps: %+v", len(found), found)
			}
			for n, f := range found {
				right := f.Step != c.wrong
				if int(f.Step) != n+1 || f.OK() != right || !right && !slices.Equal(f.Settings, c.want) ||
					f.Message == "" || strings.Contains(f.Message, "private") {
					t.Errorf("step %d: %+v", n+1, f)
				}
			}
			if c.wrong == login && slices.Contains(c.want, "redirectUri") &&
				!strings.Contains(found[len(found)-1].Message, callback) {
				t.Errorf("%q does not name the redirect URI", found[len(found)-1].Message)
			}
		})
	}
}
