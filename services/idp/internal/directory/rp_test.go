package directory_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"herald/services/idp/internal/domain"
	stand "herald/shared/testkit/directory"
)

// The modules of the OpenID Foundation's conformance suite for relying parties of the basic profile, ported under their
// own names. Each says what the provider does.
func TestRelyingParty(t *testing.T) {
	t.Parallel()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name string, value any) func(world) {
		return func(w world) { w.Change(stand.IDToken, func(c stand.Claims) { c[name] = value }) }
	}
	userinfoOnly := func(w world) {
		w.Change(stand.IDToken, func(c stand.Claims) { c["email"], c["given_name"], c["family_name"] = nil, nil, nil })
	}
	for name, m := range map[string]struct {
		provider func(world)
		want     error // nil for a login
	}{
		"oidcc-client-test":                       {func(world) {}, nil},
		"oidcc-client-test-nonce-invalid":         {claim("nonce", "another"), domain.ErrTokenInvalid},
		"oidcc-client-test-scope-userinfo-claims": {userinfoOnly, nil},
		"oidcc-client-test-client-secret-basic":   {func(world) {}, nil},
		"oidcc-client-test-aud":                   {claim("aud", "another"), domain.ErrTokenInvalid},
		"oidcc-client-test-missing-aud":           {claim("aud", nil), domain.ErrTokenInvalid},
		"oidcc-client-test-missing-iat":           {claim("iat", nil), domain.ErrTokenInvalid},
		"oidcc-client-test-missing-sub":           {claim("sub", nil), domain.ErrTokenInvalid},
		"oidcc-client-test-invalid-iss":           {claim("iss", "https://evil.example"), domain.ErrTenantRefused},
		"oidcc-client-test-kid-absent-single-jwks": {func(w world) {
			w.SignBy(func(c stand.Claims) string { return stand.Sign(t, jose.RS256, w.Key, "", c) })
		}, nil},
		"oidcc-client-test-kid-absent-multiple-jwks": {func(w world) {
			w.Change(stand.Keys, func(c stand.Claims) {
				c["keys"] = []stand.Claims{stand.JWK(t, w.Key.Public(), "k1"), stand.JWK(t, other.Public(), "k2")}
			})
			w.SignBy(func(c stand.Claims) string { return stand.Sign(t, jose.RS256, w.Key, "", c) })
		}, domain.ErrTokenInvalid},
		"oidcc-client-test-idtoken-sig-rs256": {func(world) {}, nil},
		"oidcc-client-test-idtoken-sig-none": {func(w world) {
			w.SignBy(func(c stand.Claims) string {
				text, _ := json.Marshal(c)
				return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
					base64.RawURLEncoding.EncodeToString(text) + "."
			})
		}, domain.ErrTokenInvalid},
		"oidcc-client-test-invalid-sig-rs256": {func(w world) {
			w.SignBy(func(c stand.Claims) string { return stand.Sign(t, jose.RS256, other, "k1", c) })
		}, domain.ErrTokenInvalid},
		"oidcc-client-test-invalid-sig-hs256": {func(w world) {
			w.SignBy(func(c stand.Claims) string {
				return stand.Sign(t, jose.HS256, []byte(strings.Repeat(stand.Secret, 3)), "k1", c)
			})
		}, domain.ErrTokenInvalid},
		"oidcc-client-test-userinfo-invalid-sub": {func(w world) {
			userinfoOnly(w)
			w.Change(stand.Userinfo, func(c stand.Claims) { c["sub"] = "somebody else" })
		}, domain.ErrTokenInvalid},
		"oidcc-client-test-userinfo-bearer-header": {userinfoOnly, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m.provider(w)
			got, err := w.login(provider(anybody))
			if !errors.Is(err, m.want) {
				t.Fatalf("%+v, %v", got, err)
			}
			if m.want == nil && (got.ObjectID != stand.Ada || got.Email != "ada@company.example" ||
				got.First != "Ada") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Keys may be for the tokens of some tenants only. A tenant's key signs for no other.
func TestIssuersOfKeys(t *testing.T) {
	t.Parallel()
	for issuer, admitted := range map[string]bool{
		"/{tenantid}/v2.0": true, "/" + stand.Company + "/v2.0": true, "/" + stand.Other + "/v2.0": false,
		"/" + stand.Personal + "/v2.0": false, "/v2.0": false,
	} {
		w := newWorld(t)
		w.Change(stand.Keys, func(c stand.Claims) {
			key := stand.JWK(t, w.Key.Public(), "k1")
			key["issuer"] = w.URL + issuer
			c["keys"] = []stand.Claims{key}
		})
		_, err := w.login(provider(anybody))
		if admitted != (err == nil) || !admitted && !errors.Is(err, domain.ErrTenantRefused) {
			t.Errorf("%s: %v", issuer, err)
		}
	}
}

// A new key is found. Tokens with ids of keys that nobody has do not make Herald ask for each of them.
func TestKeysChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	w.herald = heraldAt(t, w.URL, func() time.Time { return now })
	if _, err := w.login(provider(anybody)); err != nil {
		t.Fatal(err)
	}
	next, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	w.Change(stand.Keys, func(c stand.Claims) { c["keys"] = []stand.Claims{stand.JWK(t, next.Public(), "k2")} })
	w.SignBy(func(c stand.Claims) string { return stand.Sign(t, jose.RS256, next, "k2", c) })
	for range 5 {
		if _, err := w.login(provider(anybody)); !errors.Is(err, domain.ErrTokenInvalid) {
			t.Error(err)
		}
	}
	if n := w.Asked(stand.Keys); n != 1 {
		t.Errorf("asked for the keys %d times", n)
	}
	now = now.Add(time.Minute)
	if _, err := w.login(provider(anybody)); err != nil || w.Asked(stand.Keys) != 2 {
		t.Errorf("%v after asking %d times", err, w.Asked(stand.Keys))
	}
	// While the directory is away, what is known is used for an hour.
	w.Replace(stand.Metadata, http.NotFound)
	w.Replace(stand.Keys, http.NotFound)
	now = now.Add(50 * time.Minute)
	if _, err := w.login(provider(anybody)); err != nil {
		t.Error(err)
	}
	now = now.Add(10 * time.Minute)
	if _, err := w.login(provider(anybody)); !errors.Is(err, domain.ErrIdpAway) {
		t.Error(err)
	}
}
