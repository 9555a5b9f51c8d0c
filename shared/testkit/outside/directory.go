package outside

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"herald/shared/resource"
)

// Tenants and objects.
const (
	Company      = "11111111-1111-4111-8111-111111111111"
	OtherCompany = "22222222-2222-4222-8222-222222222222"
	Personal     = "9188040d-6c67-4c5b-b112-36a304b66dad"
	Ada          = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
	// ClientID is the id of the only client.
	ClientID = "herald-client"
	// ClientSecret is the secret of that client.
	ClientSecret = "s3cret of the client"
	// Domain is a domain name of Company.
	Domain = "company.example"
)

// Claims are the claims of a token or the fields of a document.
type Claims = map[string]any

// Directory is a running enterprise directory: an OpenID provider with many tenants.
type Directory struct {
	testing.TB
	URL string
	// Key signs tokens.
	Key *rsa.PrivateKey

	mu       sync.Mutex
	account  Claims
	replaced map[string]http.HandlerFunc
	change   map[string]func(Claims)
	sign     func(Claims) string
	asked    map[string]int
	codes    map[string]url.Values
	begun    url.Values
}

// The documents and answers that can be changed or replaced.
const (
	Metadata  = "metadata"
	Keys      = "keys"
	Authorize = "authorize"
	Token     = "token"
	IDToken   = "id_token"
	Userinfo  = "userinfo"
)

// signingKey is the key of all directories. It is made once, because this is slow.
var signingKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// StartDirectory starts a directory in which Ada of Company is logged in.
func StartDirectory(t testing.TB) *Directory {
	t.Helper()
	d := &Directory{TB: t, Key: signingKey()}
	d.Honest()
	mux := http.NewServeMux()
	for path, serve := range map[string]http.HandlerFunc{
		"GET /{tenant}/v2.0/.well-known/openid-configuration": d.serve(Metadata, d.metadata),
		"GET /keys":      d.serve(Keys, d.keys),
		"GET /authorize": d.serve(Authorize, d.authorize),
		"POST /token":    d.serve(Token, d.token),
		"GET /userinfo":  d.serve(Userinfo, d.userinfo),
	} {
		mux.HandleFunc(path, serve)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	d.URL = server.URL
	return d
}

// Honest removes all changes, so that the directory answers correctly again.
func (d *Directory) Honest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.account = Claims{"sub": "ada's sub", "tid": Company, "oid": Ada, "preferred_username": "ada@company.example",
		"name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace", "email": "ada@company.example"}
	d.replaced, d.change = map[string]http.HandlerFunc{}, map[string]func(Claims){}
	d.sign = func(c Claims) string { return Sign(d.TB, jose.RS256, d.Key, "k1", c) }
	d.asked, d.codes = map[string]int{}, map[string]url.Values{}
}

// LogIn changes the claims of the user who is logged in. A claim with the value nil is removed.
func (d *Directory) LogIn(claims Claims) {
	d.mu.Lock()
	defer d.mu.Unlock()
	merge(d.account, claims)
}

// Change sets a function that changes a document before it is written.
func (d *Directory) Change(what string, change func(Claims)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change[what] = change
}

// Replace replaces an answer.
func (d *Directory) Replace(what string, by http.HandlerFunc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replaced[what] = by
}

// SignBy replaces the function that signs id tokens.
func (d *Directory) SignBy(sign func(Claims) string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sign = sign
}

// Asked returns how often a document or answer was requested.
func (d *Directory) Asked(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[what]
}

// Begun returns the parameters of the last request for a login.
func (d *Directory) Begun() url.Values {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun
}

// Sign returns a signed token. If keyID is empty, the header has no key id.
func Sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, keyID string, c Claims) string {
	t.Helper()
	options := &jose.SignerOptions{}
	if keyID != "" {
		options.WithHeader("kid", keyID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options.WithType("JWT"))
	if err != nil {
		t.Error(err)
		return ""
	}
	signed, err := jwt.Signed(signer).Claims(c).Serialize()
	if err != nil {
		t.Error(err)
	}
	return signed
}

func merge(into, from Claims) {
	for name, value := range from {
		if into[name] = value; value == nil {
			delete(into, name)
		}
	}
}

func (d *Directory) serve(what string, honest http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.asked[what]++
		by := d.replaced[what]
		d.mu.Unlock()
		if by != nil {
			by(w, r)
			return
		}
		honest(w, r)
	}
}

// write writes a document with the changes that Change has set.
func (d *Directory) write(w http.ResponseWriter, what string, c Claims) {
	d.writeAs(w, http.StatusOK, what, c)
}

func (d *Directory) writeAs(w http.ResponseWriter, status int, what string, c Claims) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if change := d.change[what]; change != nil {
		change(c)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(c); err != nil {
		d.Error(err)
	}
}

func (d *Directory) metadata(w http.ResponseWriter, r *http.Request) {
	tenant := r.PathValue("tenant")
	switch tenant {
	case "common", "organizations":
		tenant = "{tenantid}"
	case "consumers":
		tenant = Personal
	case Domain:
		tenant = Company
	}
	d.write(w, Metadata, Claims{
		"issuer": d.URL + "/" + tenant + "/v2.0", "authorization_endpoint": d.URL + "/authorize",
		"token_endpoint": d.URL + "/token", "jwks_uri": d.URL + "/keys", "userinfo_endpoint": d.URL + "/userinfo",
	})
}

// JWK returns a public key in its published form.
func JWK(t testing.TB, public any, keyID string) Claims {
	t.Helper()
	text, err := jose.JSONWebKey{Key: public, KeyID: keyID, Algorithm: "RS256", Use: "sig"}.MarshalJSON()
	var c Claims
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (d *Directory) keys(w http.ResponseWriter, _ *http.Request) {
	d.write(w, Keys, Claims{"keys": []Claims{JWK(d, d.Key.Public(), "k1")}})
}

// authorize logs in everybody at once, without a page.
func (d *Directory) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	d.mu.Lock()
	code := resource.NewID()
	d.codes[code], d.begun = asked, asked
	d.mu.Unlock()
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil {
		d.Error(err)
	}
	back.RawQuery = url.Values{"code": {code}, "state": {asked.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// Code returns a code for the given parameters of a request, as a browser would receive it.
func (d *Directory) Code(asked url.Values) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	code := resource.NewID()
	d.codes[code] = asked
	return code
}

func (d *Directory) token(w http.ResponseWriter, r *http.Request) {
	user, password, basic := r.BasicAuth()
	d.mu.Lock()
	asked, there := d.codes[r.PostFormValue("code")]
	delete(d.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	account, sign, change := maps.Clone(d.account), d.sign, d.change[IDToken]
	d.mu.Unlock()
	if name, err := url.QueryUnescape(password); err == nil {
		password = name
	}
	refused := ""
	switch {
	case !basic || user != ClientID || password != ClientSecret:
		refused = "invalid_client"
	case !there || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]):
		refused = "invalid_grant"
	}
	if refused != "" {
		d.writeAs(w, http.StatusBadRequest, Token,
			Claims{"error": refused, "error_description": "private text of the directory"})
		return
	}
	now := time.Now()
	tid, _ := account["tid"].(string)
	claims := Claims{"iss": d.URL + "/" + tid + "/v2.0", "aud": ClientID, "nonce": asked.Get("nonce"),
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	if asked.Has("max_age") { // OpenID Connect Core section 3.1.2.1
		claims["auth_time"] = now.Unix()
	}
	merge(claims, account)
	if change != nil {
		change(claims)
	}
	for name, value := range claims {
		if value == nil {
			delete(claims, name)
		}
	}
	d.write(w, Token, Claims{"access_token": "access", "token_type": "Bearer", "expires_in": 3600,
		"id_token": sign(claims)})
}

func (d *Directory) userinfo(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer access") || r.URL.RawQuery != "" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	d.mu.Lock()
	account := maps.Clone(d.account)
	d.mu.Unlock()
	d.write(w, Userinfo, account)
}
