package protocol_test

import (
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// attempt is a request to an endpoint of a client that sends its secret in some way.
type attempt struct {
	path, header string
	form         []string
}

func (a attempt) send(w *testworld.OAuth) testworld.Answer {
	values := url.Values{}
	for i := 0; i < len(a.form); i += 2 {
		values.Set(a.form[i], a.form[i+1])
	}
	r := httptest.NewRequest("POST", a.path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if id, secret, ok := strings.Cut(a.header, ":"); ok {
		r.SetBasicAuth(id, secret)
	} else if a.header != "" {
		r.Header.Set("Authorization", a.header)
	}
	return w.Send(r)
}

// paths are the endpoints at which clients authenticate, with parameters of a good request.
var paths = map[string][]string{
	"/oauth/v2/token":                {"grant_type", "refresh_token", "refresh_token", "x"},
	"/oauth/v2/introspect":           {"token", "x"},
	"/oauth/v2/revoke":               {"token", "x"},
	"/oauth/v2/device_authorization": {"scope", "openid"},
}

// A secret is taken in the header or in the body, whichever is configured, and not in both. The answer to a client that
// authenticates otherwise says what to change. It has a challenge only if the client has used the header.
func TestClientsAuthenticateBySecretInHeaderOrBody(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	w.Change(func() {
		w.Apps["api"], w.Apps["key"] = testworld.API("api", "p1"), testworld.API("key", "p1")
		w.Apps["key"].App.GetApiConfig().AuthMethodType =
			projectsv1.ApiAuthMethodType_API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT
	})
	const wrong = "the client is unknown, inactive, or its secret or key is wrong"
	body := func(id, secret string) []string { return []string{"client_id", id, "client_secret", secret} }
	for name, test := range map[string]struct {
		header string
		form   []string
		status int
		says   string
	}{
		"BASIC in the header":      {header: "web:secret"},
		"BASIC in the body":        {form: body("web", "secret")},
		"POST in the header":       {header: "post:secret"},
		"POST in the body":         {form: body("post", "secret")},
		"an API in the body":       {form: body("api", "secret")},
		"a machine in the body":    {form: body("robot", "secret")},
		"wrong in the header":      {header: "web:secre", status: 401, says: wrong},
		"wrong in the body":        {form: body("web", "secre"), status: 401, says: wrong},
		"unknown":                  {form: body("x", "secret"), status: 401, says: wrong},
		"header and body":          {header: "web:secret", form: body("web", "secret"), status: 400, says: "one of"},
		"no client":                {status: 401, says: "send client_id and client_secret"},
		"only an id":               {form: body("web", ""), status: 401, says: "send it in the Authorization header"},
		"bearer":                   {header: "Bearer x", status: 401, says: "not that of HTTP Basic: Basic, a space"},
		"an empty secret":          {header: "spa:", status: 401, says: "in the body, and no such header"},
		"a secret for a key":       {form: body("key", "secret"), status: 401, says: "send client_assertion"},
		"a header for a key":       {header: "key:secret", status: 401, says: "send client_assertion"},
		"a secret of a public one": {form: body("spa", "secret"), status: 401, says: "(none): send client_id"},
	} {
		w.Run(name, func() {
			for path, form := range paths {
				got := attempt{path, test.header, append(test.form[:len(test.form):len(test.form)], form...)}.send(w)
				said := got.Text("error_description")
				switch {
				case test.status == 0 && got.Text("error") == "invalid_client":
					w.Errorf("%s: %d %v", path, got.Status, got.Body)
				case test.status != 0 && (got.Status != test.status || !strings.Contains(said, test.says)):
					w.Errorf("%s: %d %v, want %d %s", path, got.Status, got.Body, test.status, test.says)
				}
				challenged := test.status == 401 && test.header != ""
				if (got.Header.Get("WWW-Authenticate") == `Basic realm="herald"`) != challenged {
					w.Errorf("%s: challenge %q", path, got.Header.Get("WWW-Authenticate"))
				}
			}
		})
	}
}
