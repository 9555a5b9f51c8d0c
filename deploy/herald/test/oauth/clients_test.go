package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/oauth2/jwt"

	"herald/deploy/herald/test/whole"
)

// parties are the machine user and the applications with which independent clients log in.
type parties struct {
	Issuer, UserID, Secret        string
	Key                           string // the key file of the user, as text
	Basic, BasicSecret            string
	KeyedID, KeyedKeyID, KeyedPEM string
	JWTUserID, JWTUserSecret      string
}

func (w world) parties() parties {
	w.TB.Helper()
	id := w.machine("ci")
	_, secret, _ := strings.Cut(w.secretOf(id), ":")
	tokens := w.machine("jwt", `,"accessTokenType":"OIDC_TOKEN_TYPE_JWT"`)
	_, tokensSecret, _ := strings.Cut(w.secretOf(tokens), ":")
	file := w.keyOf(id)
	text, err := json.Marshal(map[string]string{"keyId": file.KeyID, "key": file.Key, "userId": file.UserID})
	if err != nil {
		w.Fatal(err)
	}
	project := w.Must("POST", "/management/v1/projects", `{"name":"Shop"}`)["id"].(string)
	apps := "/management/v1/projects/" + project + "/apps"
	basic := w.Must("POST", apps+"/api", `{"name":"API"}`)
	keyed := w.Must("POST", apps+"/api", `{"name":"Keyed","authMethodType":"API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT"}`)
	appKey := w.keyAt(apps + "/" + keyed["appId"].(string) + "/keys")
	return parties{
		Issuer: w.URL, UserID: id, Secret: secret, Key: string(text), Basic: basic["clientId"].(string),
		BasicSecret: basic["clientSecret"].(string), KeyedID: keyed["clientId"].(string), KeyedKeyID: appKey.KeyID,
		KeyedPEM: appKey.Key, JWTUserID: tokens, JWTUserSecret: tokensSecret,
	}
}

// golang.org/x/oauth2 logs machines in with what coreos/go-oidc has discovered, and verifies their JWTs.
func TestGoClients(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.parties()
	file := w.keyOf(p.UserID)
	ctx := t.Context()
	provider, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oidc.NewProvider(ctx, strings.Replace(p.Issuer, "localhost", "127.0.0.1", 1)); err == nil {
		t.Error("the issuer is not compared")
	}
	endpoint := provider.Endpoint()
	scopes := strings.Fields(apiScope)
	credentials := func(id, secret string, style oauth2.AuthStyle) oauth2.TokenSource {
		return (&clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: endpoint.TokenURL,
			AuthStyle: style, Scopes: scopes}).TokenSource(ctx)
	}
	assertion := func(audience, keyID string) oauth2.TokenSource {
		return (&jwt.Config{Email: p.UserID, Subject: p.UserID, PrivateKey: []byte(file.Key), PrivateKeyID: keyID,
			Audience: audience, TokenURL: endpoint.TokenURL, Scopes: scopes}).TokenSource(ctx)
	}
	for name, source := range map[string]oauth2.TokenSource{
		"basic":    credentials(p.UserID, p.Secret, oauth2.AuthStyleInHeader),
		"post":     credentials(p.UserID, p.Secret, oauth2.AuthStyleInParams),
		"probed":   credentials(p.UserID, p.Secret, oauth2.AuthStyleAutoDetect),
		"issuer":   assertion(p.Issuer, file.KeyID),
		"endpoint": assertion("", file.KeyID),
	} {
		token, err := source.Token()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if status, me := w.me(token.AccessToken); status != http.StatusOK || me != p.UserID ||
			time.Until(token.Expiry) < 50*time.Minute || token.Type() != "Bearer" {
			t.Errorf("%s: %d, %s, %v", name, status, me, token)
		}
	}
	for name, c := range map[string]struct {
		source oauth2.TokenSource
		code   string
	}{
		"wrong secret":   {credentials(p.UserID, "wrong", oauth2.AuthStyleInHeader), "invalid_client"},
		"wrong key":      {assertion(p.Issuer, "other"), "invalid_grant"},
		"other audience": {assertion("https://other.example.com", file.KeyID), "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.source.Token()
			refused, ok := errors.AsType[*oauth2.RetrieveError](err)
			if !ok || !strings.Contains(string(refused.Body), `"error":"`+c.code+`"`) ||
				!strings.Contains(string(refused.Body), `"error_description":"`) {
				t.Errorf("%v", err)
			}
		})
	}
	token, err := credentials(p.JWTUserID, p.JWTUserSecret, oauth2.AuthStyleInHeader).Token()
	if err != nil {
		t.Fatal(err)
	}
	verifier := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.JWTUserID})
	if read, err := verifier.Verify(ctx, token.AccessToken); err != nil || read.Subject != p.JWTUserID {
		t.Errorf("a JWT access token: %v, %v", read, err)
	}
}

// openid-client and oauth4webapi log machines in, and get the errors of RFC 6749.
func TestNodeClients(t *testing.T) {
	t.Parallel()
	w := start(t)
	folder := t.TempDir()
	whole.NodeLibraries(t, folder)
	given, err := json.Marshal(w.parties())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	script := filepath.Join(folder, "machines.mjs")
	text := whole.File(t, "deploy/herald/test/oauth/clients/machines.mjs")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, "node", script)
	c.Dir, c.Stdin = folder, strings.NewReader(string(given))
	complaints := &strings.Builder{}
	c.Stderr = complaints
	out, err := c.Output()
	if want := "16 checks\n"; err != nil || string(out) != want {
		t.Errorf("%v, printed %q, want %q\n%s", err, out, want, complaints)
	}
}
