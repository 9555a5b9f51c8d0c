package replicas_test

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"herald/deploy/herald/test/whole"
	"herald/shared/secret"
	"herald/shared/testkit"
)

const redirectURI, password = "http://127.0.0.1/callback", "correct horse"

// browse sends a request as a browser would, and returns where its answer leads to and its cookies.
func (r *replicas) browse(
	gateway int, method, uri string, form url.Values, sent ...*http.Cookie,
) (to *url.URL, cookies []*http.Cookie) {
	r.T.Helper()
	q, err := http.NewRequestWithContext(r.T.Context(), method, r.gateways[gateway%len(r.gateways)]+uri,
		strings.NewReader(form.Encode()))
	if err != nil {
		r.T.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.Header.Set("Origin", r.URL)
	q.Header.Set("Cookie", whole.Visited)
	for _, c := range sent {
		q.AddCookie(c)
	}
	w, err := r.client.Transport.RoundTrip(q)
	if err != nil {
		r.T.Fatal(err)
	}
	defer w.Body.Close()
	if to, err = q.URL.Parse(testkit.Onward(w.Header)); err != nil || to.String() == q.URL.String() {
		text, _ := io.ReadAll(w.Body)
		r.T.Fatalf("%s %s: %s %s", method, uri, w.Status, text)
	}
	return to, w.Cookies()
}

// code logs a person in to an application, and returns the code that it gets.
func (r *replicas) code(clientID, name, verifier string) string {
	r.T.Helper()
	query := url.Values{"client_id": {clientID}, "redirect_uri": {redirectURI}, "response_type": {"code"},
		"scope": {"openid offline_access"}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(secret.Hash(verifier))}}
	page, _ := r.browse(0, http.MethodGet, "/oauth/v2/authorize?"+query.Encode(), nil)
	back, cookies := r.browse(1, http.MethodPost, "/ui/login/password",
		url.Values{"request": {page.Query().Get("request")}, "name": {name}, "current": {password}})
	if len(cookies) == 0 || back.Query().Get("code") == "" {
		r.T.Fatalf("after the login: %s", back)
	}
	return back.Query().Get("code")
}

// assertion returns what a machine user logs in with.
func (r *replicas) assertion(userID string) string {
	r.T.Helper()
	made := r.admin(0, "", "POST", "/management/v1/users/"+userID+"/keys", `{"type":"KEY_TYPE_JSON"}`)
	text, err := base64.StdEncoding.DecodeString(made.at("keyDetails").(string))
	var file struct{ KeyID, Key string }
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		r.T.Fatal(err)
	}
	block, _ := pem.Decode([]byte(file.Key))
	var private *rsa.PrivateKey
	if private, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
		r.T.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: private},
		(&jose.SignerOptions{}).WithHeader("kid", file.KeyID))
	if err != nil {
		r.T.Fatal(err)
	}
	now := time.Now()
	signed, err := jwt.Signed(signer).Claims(map[string]any{"iss": userID, "sub": userID, "aud": r.URL,
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": "once"}).Serialize()
	if err != nil {
		r.T.Fatal(err)
	}
	return signed
}

// tokensOf asks both gateways fifty times at once for a token. It returns the answers with one.
func (r *replicas) tokensOf(form url.Values) (good []map[string]any) {
	r.T.Helper()
	var (
		asking sync.WaitGroup
		mu     sync.Mutex
	)
	for n := range 50 {
		asking.Go(func() {
			w, err := r.client.PostForm(r.gateways[n%len(r.gateways)]+"/oauth/v2/token", form)
			if err != nil {
				r.T.Error(err)
				return
			}
			defer w.Body.Close()
			var body map[string]any
			if err := json.NewDecoder(w.Body).Decode(&body); err != nil {
				r.T.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case w.StatusCode == http.StatusOK:
				good = append(good, body)
			case w.StatusCode != http.StatusBadRequest || body["error"] != "invalid_grant":
				r.T.Errorf("%d %v", w.StatusCode, body)
			}
		})
	}
	asking.Wait()
	return good
}

// With three replicas behind two gateways, of fifty requests at once with the same code or assertion one gets a token.
// A code that was used again has ended what it gave. With the same refresh token all get tokens, and the next refresh
// token is the same.
func TestOnceAtThreeReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, "users", "projects", "text", "auth")
	project, _ := r.admin(0, "", "POST", "/management/v1/projects", `{"name":"Shop"}`).at("id").(string)
	clientID, _ := r.admin(0, "", "POST", "/management/v1/projects/"+project+"/apps/oidc", fmt.Sprintf(
		`{"name":"App","appType":"OIDC_APP_TYPE_NATIVE","authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE",
		"redirectUris":[%q],
		"grantTypes":["OIDC_GRANT_TYPE_AUTHORIZATION_CODE","OIDC_GRANT_TYPE_REFRESH_TOKEN"]}`,
		redirectURI)).at("clientId").(string)
	r.admin(0, "", "POST", "/management/v1/users/human/_import", strings.Replace(whole.Active("mini"),
		fmt.Sprintf(`"hashedPassword":{"value":%q}`, whole.Hash), fmt.Sprintf(`"password":%q`, password), 1))
	machine, _ := r.admin(0, "", "POST", "/management/v1/users/machine", `{"userName":"ci","name":"ci"}`).
		at("userId").(string)
	verifier := secret.RandomString(50)
	redeem := func() url.Values {
		return url.Values{"grant_type": {"authorization_code"}, "client_id": {clientID}, "redirect_uri": {redirectURI},
			"code": {r.code(clientID, "mini", verifier)}, "code_verifier": {verifier}}
	}
	refresh := func(token any) url.Values {
		return url.Values{"grant_type": {"refresh_token"}, "client_id": {clientID},
			"refresh_token": {fmt.Sprint(token)}}
	}
	used := r.tokensOf(redeem())
	if len(used) != 1 {
		t.Fatalf("%d tokens for one code", len(used))
	}
	if again := r.tokensOf(refresh(used[0]["refresh_token"])); len(again) != 0 {
		t.Error("a code that was used again has not ended what it gave")
	}
	w, err := r.client.PostForm(r.gateways[0]+"/oauth/v2/token", redeem())
	if err != nil {
		t.Fatal(err)
	}
	var first map[string]any
	if err := json.NewDecoder(w.Body).Decode(&first); err != nil {
		t.Fatal(err)
	}
	_ = w.Body.Close()
	used = r.tokensOf(refresh(first["refresh_token"]))
	next := map[any]bool{}
	for _, answer := range used {
		next[answer["refresh_token"]] = true
	}
	if len(used) != 50 || len(next) != 1 {
		t.Fatalf("%d answers for one refresh token, with %d next ones", len(used), len(next))
	}
	if again := r.tokensOf(refresh(used[0]["refresh_token"])); len(again) != 50 {
		t.Errorf("%d answers for the next refresh token", len(again))
	}
	used = r.tokensOf(url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
		"scope": {"openid"}, "assertion": {r.assertion(machine)}})
	if len(used) != 1 {
		t.Errorf("%d tokens for one assertion", len(used))
	}
}
