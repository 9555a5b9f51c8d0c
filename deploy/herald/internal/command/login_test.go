package command_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"herald/deploy/herald/internal/command"
)

// issuer is an instance that gives tokens for one key.
type issuer struct {
	*httptest.Server
	t   *testing.T
	key *rsa.PrivateKey
	// issuer and endpoint are in the document if they are not empty.
	issuer, endpoint string
	// refuse, if not nil, answers the token request.
	refuse http.HandlerFunc
	// got is what was asked after the login.
	got []asked
	// logins is the number of tokens.
	logins int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"token_endpoint":%q}`, i.issuer, i.endpoint)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if i.refuse != nil {
			i.refuse(w, r)
			return
		}
		i.check(r)
		i.logins++
		fmt.Fprintf(w, `{"access_token":"token %d","scope":"x"}`, i.logins)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		i.got = append(i.got, asked{r.URL.Path, "", r.Header})
		says("{}")(w, r)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	i.issuer, i.endpoint = i.URL, i.URL+"/token"
	return i
}

// check fails the test unless a request logs in as RFC 7523 says.
func (i *issuer) check(r *http.Request) {
	if err := r.ParseForm(); err != nil {
		i.t.Error(err)
	}
	signed, err := jwt.ParseSigned(r.PostForm.Get("assertion"), []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		i.t.Errorf("%v in %v", err, r.PostForm)
		return
	}
	var c jwt.Claims
	if err := signed.Claims(i.key.Public(), &c); err != nil {
		i.t.Error(err)
	}
	if err := c.ValidateWithLeeway(jwt.Expected{
		Issuer: "u1", Subject: "u1", AnyAudience: jwt.Audience{i.URL}, Time: time.Now(),
	}, time.Second); err != nil || signed.Headers[0].KeyID != "k1" || c.ID == "" || c.Expiry == nil ||
		c.Expiry.Time().Sub(c.IssuedAt.Time()) != time.Minute ||
		r.PostForm.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" ||
		r.PostForm.Get("scope") != "openid urn:service:iam:org:project:id:service:aud" {
		i.t.Errorf("%v: %v %v", err, c, r.PostForm)
	}
}

// keyFile returns the key file, with other members: an empty value removes one.
func (i *issuer) keyFile(changes map[string]string) string {
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(i.key)})
	members := map[string]string{"type": "serviceaccount", "keyId": "k1", "userId": "u1", "key": string(private),
		"expirationDate": "9999-12-31T23:59:59Z"}
	maps.Copy(members, changes)
	maps.DeleteFunc(members, func(_, value string) bool { return value == "" })
	text, err := json.Marshal(members)
	if err != nil {
		i.t.Fatal(err)
	}
	return string(text)
}

// A machine user logs in by its key file, anew for each call, whether a flag or a setting names it.
func TestCallLogsIn(t *testing.T) {
	i := newIssuer(t)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(i.key)
	if err != nil {
		t.Fatal(err)
	}
	newer := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	other := i.keyFile(map[string]string{"key": string(newer)})
	for _, args := range [][]string{
		{"call", "Users.GetMyUser", "--key-file", file(t, i.keyFile(nil))},
		{"call", "Users.GetMyUser", "--key-file", file(t, other+"\n")},
	} {
		if _, err := execute(t, "", append(args, "--url", i.URL)...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	t.Setenv("HERALD_TOKEN", "own")
	if _, err := execute(t, "", "call", "Users.GetMyUser", "--url", i.URL, "--key-file", file(t, other)); err != nil {
		t.Error(err)
	}
	t.Setenv("HERALD_KEY_FILE", file(t, i.keyFile(nil)))
	if _, err := execute(t, "", "call", "Users.GetMyUser", "--url", i.URL); err == nil ||
		!strings.Contains(err.Error(), "HERALD_TOKEN and HERALD_KEY") {
		t.Errorf("both settings: %v", err)
	}
	t.Setenv("HERALD_TOKEN", "")
	if _, err := execute(t, "", "call", "Users.GetMyUser", "--url", i.URL); err != nil {
		t.Error(err)
	}
	var tokens []string
	for _, r := range i.got {
		tokens = append(tokens, r.header.Get("Authorization"))
	}
	if !slices.Equal(tokens, []string{"Bearer token 1", "Bearer token 2", "Bearer token 3", "Bearer token 4"}) {
		t.Errorf("sent %q", tokens)
	}
	if out, err := execute(t, "", "token", "--url", i.URL); err != nil || out != "token 5\n" {
		t.Errorf("printed %q, %v", out, err)
	}
	out, err := execute(t, "", "token", "--url", i.URL, "--key-file", file(t, other))
	if err != nil || out != "token 6\n" {
		t.Errorf("printed %q, %v", out, err)
	}
}

// What is wrong with a key file, an address or a clock is an error that says what to change, and no private key is
// in them.
func TestCallCannotLogIn(t *testing.T) {
	t.Parallel()
	refusal := func(status int, ahead time.Duration, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-ahead).UTC().Format(http.TimeFormat))
			w.Header().Set("X-Request-Id", "r1")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const invalid = `{"error":"invalid_grant","error_description":"the 100%s \u001b assertion"}`
	for name, c := range map[string]struct {
		members  map[string]string
		text     string
		document func(*issuer)
		refuse   http.HandlerFunc
		says     string
		code     int
	}{
		"no JSON":     {text: "eyJ0eXBlIj", says: "decoded from base64", code: 1},
		"application": {members: map[string]string{"type": "application"}, says: "of a machine user", code: 1},
		"no user":     {members: map[string]string{"userId": ""}, says: "userId is missing", code: 1},
		"no key id":   {members: map[string]string{"keyId": ""}, says: "keyId or", code: 1},
		"no private":  {members: map[string]string{"key": ""}, says: "add the private key as PEM", code: 1},
		"no PEM":      {members: map[string]string{"key": "x"}, says: "is not PEM", code: 1},
		"another PEM": {members: map[string]string{"key": "-----BEGIN A-----\nAAAA\n-----END A-----\n"},
			says: "not an RSA private key", code: 1},
		"expired": {members: map[string]string{"expirationDate": "2026-01-02T03:04:05Z"},
			says: "expired at 2026-01-02T03:04:05Z: make another one", code: 1},
		"another name": {document: func(i *issuer) { i.issuer = "https://id.example.com" },
			says: "calls itself https://id.example.com: use this address", code: 1},
		"no issuer": {document: func(i *issuer) { i.issuer = "" }, says: "is it the address of an instance?", code: 1},
		"elsewhere": {document: func(i *issuer) { i.endpoint = "https://evil.example.com" },
			says: "has no token endpoint", code: 1},
		"no token":   {refuse: refusal(200, 0, "{}"), says: "without a token", code: 1},
		"no answer":  {refuse: refusal(200, 0, "<html>"), says: "not as an instance does", code: 1},
		"a redirect": {refuse: refusal(302, 0, "{}"), says: "answered 302", code: 1},
		"refused": {refuse: refusal(400, 0, invalid), says: "UNAUTHENTICATED: the login with the key file was " +
			"refused: invalid_grant: the 100%s \\u001b assertion\n  request id: r1", code: 26},
		"fast": {refuse: refusal(400, time.Hour, invalid), says: "ahead of the instance's: set it", code: 26},
		"slow": {refuse: refusal(400, -time.Hour, invalid), says: "behind the instance's: set it", code: 26},
		"away": {refuse: refusal(503, 0, `{"error":"temporarily_unavailable"}`), says: "temporarily_unavail", code: 24},
		"cut": {refuse: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, says: "EOF",
			code: 1},
	} {
		i := newIssuer(t)
		if c.document != nil {
			c.document(i)
		}
		i.refuse = c.refuse
		text := c.text
		if text == "" {
			text = i.keyFile(c.members)
		}
		out, err := execute(t, "", "call", "Users.GetMyUser", "--url", i.URL, "--key-file", file(t, text))
		if err == nil || !strings.Contains(err.Error(), c.says) || command.ExitCode(err) != c.code || out != "" ||
			strings.Contains(err.Error(), "PRIVATE") || len(i.got) > 0 {
			t.Errorf("%s: %v, printed %q", name, err, out)
		}
	}
	for _, args := range [][]string{
		{"call", "Users.GetMyUser", "--token-file", "a", "--key-file", "b"}, {"token"},
		{"token", "--key-file", "/no/such/file"},
	} {
		if _, err := execute(t, "", args...); err == nil || !strings.Contains(err.Error(), "file") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
