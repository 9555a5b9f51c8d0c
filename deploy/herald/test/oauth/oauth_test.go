// Package oauth_test drives the endpoints of OAuth 2.0 and OpenID Connect of the whole system over HTTP.
package oauth_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"herald/deploy/herald/test/whole"
	"herald/shared/resource"
)

// world is a running system that tests of one kind share.
type world struct {
	*whole.Instance
	testing.TB
}

func start(t testing.TB, settings ...string) world { return world{whole.Start(t, settings...), t} }

// answer is a response of an endpoint.
type answer struct {
	Status int
	Header http.Header
	Body   map[string]any
}

// text returns a member of the body.
func (a answer) text(name string) string {
	s, _ := a.Body[name].(string)
	return s
}

// post sends a form, with HTTP Basic if basic is "id:secret".
func (w world) post(path, basic string, form ...string) answer {
	w.TB.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Add(form[i], form[i+1])
	}
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.URL+path, strings.NewReader(values.Encode()))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if id, password, ok := strings.Cut(basic, ":"); ok {
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(password))
	}
	return w.send(r)
}

func (w world) send(r *http.Request) answer {
	w.TB.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	a := answer{Status: response.StatusCode, Header: response.Header}
	if len(text) == 0 {
		return a
	}
	if err := json.Unmarshal(text, &a.Body); err != nil {
		w.Fatalf("%d %s: %v", a.Status, text, err)
	}
	return a
}

// refused fails the test unless an answer is that error.
func (w world) refused(a answer, status int, code string) {
	w.TB.Helper()
	if a.Status != status || a.text("error") != code || a.Header.Get("Cache-Control") != "no-store" {
		w.Errorf("%d %v, want %d %s", a.Status, a.Body, status, code)
	}
}

// token asks the token endpoint and returns the answer, which must be a token.
func (w world) token(basic string, form ...string) answer {
	w.TB.Helper()
	a := w.post("/oauth/v2/token", basic, form...)
	if a.Status != http.StatusOK || a.text("access_token") == "" || a.text("token_type") != "Bearer" ||
		a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Content-Type") != "application/json" {
		w.Fatalf("%d %v %v", a.Status, a.Header, a.Body)
	}
	return a
}

// me returns the status of the caller's own user with an access token, and who it is.
func (w world) me(token string) (int, string) {
	w.TB.Helper()
	a := w.get("/auth/v1/users/me", token)
	user, _ := a.Body["user"].(map[string]any)
	id, _ := user["id"].(string)
	return a.Status, id
}

// get reads something of the API with an access token.
func (w world) get(path, token string) answer {
	w.TB.Helper()
	return w.ask(http.MethodGet, path, "", "Authorization", "Bearer "+token)
}

// machine makes a machine user and returns its id.
func (w world) machine(name string, more ...string) string {
	w.TB.Helper()
	body := `{"userName":"` + name + `","name":"` + name + `"` + strings.Join(more, "") + `}`
	return w.Must("POST", "/management/v1/users/machine", body)["userId"].(string)
}

// secretOf makes a secret of a machine user and returns "id:secret".
func (w world) secretOf(userID string) string {
	w.TB.Helper()
	made := w.Must("PUT", "/management/v1/users/"+userID+"/secret", "{}")
	return made["clientId"].(string) + ":" + made["clientSecret"].(string)
}

// key is a key file.
type key struct {
	KeyID, Key, UserID, AppID, ClientID string
	private                             jose.SigningKey
}

// keyOf makes a key of a machine user.
func (w world) keyOf(userID string) key {
	w.TB.Helper()
	return w.keyAt("/management/v1/users/" + userID + "/keys")
}

func (w world) keyAt(path string) (k key) {
	w.TB.Helper()
	made := w.Must("POST", path, `{"type":"KEY_TYPE_JSON"}`)
	file, err := base64.StdEncoding.DecodeString(made["keyDetails"].(string))
	if err != nil {
		w.Fatal(err)
	}
	if err := json.Unmarshal(file, &k); err != nil {
		w.Fatal(err)
	}
	block, _ := pem.Decode([]byte(k.Key))
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		w.Fatal(err)
	}
	k.private = jose.SigningKey{Algorithm: jose.RS256, Key: private}
	return k
}

// claims are those of a good assertion of a key's owner, with changes: a nil value removes a claim.
func (w world) claims(owner string, changes map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{"iss": owner, "sub": owner, "aud": w.URL, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		"jti": resource.NewID()}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

// sign returns claims as a JWT that a key has signed.
func (w world) sign(k key, claims map[string]any) string {
	w.TB.Helper()
	signer, err := jose.NewSigner(k.private, (&jose.SignerOptions{}).WithHeader("kid", k.KeyID))
	if err != nil {
		w.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		w.Fatal(err)
	}
	return text
}

const (
	bearer        = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	apiScope      = "openid urn:service:iam:org:project:id:service:aud"
)
