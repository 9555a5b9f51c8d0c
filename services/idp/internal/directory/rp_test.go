package directory_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"herald/services/idp/internal/directory"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// module is one of the OpenID Foundation's conformance suite for relying parties. It says what the provider does.
type module struct {
	name     string
	provider func(world)
	// want is nil for a login.
	want error
	// userinfo and keys are how often the provider is asked for them, if that is what the module is about.
	userinfo, keys int
}

// modules returns those that apply, under their own names: first all 14 of oidcc-client-basic-certification-test-plan
// in its order, then those of oidcc-client-config-certification-test-plan, then others of oidcc-client-test-plan.
//
// The plans for other flows have the rest. They do not apply:
//   - nonce-unless-code-flow, invalid- and missing-athash, -chash, formpost-error: for flows other than the code's
//   - userinfo-bearer-body: Herald sends the token in the header, which the suite takes as an alternative
//   - signed-userinfo, request-uri-signed-none, request-uri-signed-rs256: Herald asks for none of these
//   - aggregated-claims, distributed-claims: Herald maps no such claims
//   - refreshtoken modules: Herald asks for no refresh token
//   - dynamic-registration, discovery-webfinger-acct, -url: administrators register clients and name the tenant
//   - mtls-endpoint-aliases: Herald authenticates with its secret
func modules(t *testing.T) []module {
	t.Helper()
	other, curve := newRSA(t), newCurve(t)
	honest := func(world) {}
	claim := func(name string, value any) func(world) {
		return func(w world) { w.Change(outside.IDToken, func(c outside.Claims) { c[name] = value }) }
	}
	signed := func(algorithm jose.SignatureAlgorithm, key any, id string) func(world) {
		return func(w world) {
			w.SignBy(func(c outside.Claims) string { return outside.Sign(t, algorithm, key, id, c) })
		}
	}
	const invalid, basic = "oidcc-client-test-invalid-", "oidcc-client-test"
	refused := idpfault.ErrIdpTokenInvalid
	return []module{
		{name: basic, provider: honest},
		{name: invalid + "iss", provider: claim("iss", "https://evil.example"), want: idpfault.ErrIdpTenantRefused},
		{name: basic + "-missing-sub", provider: claim("sub", nil), want: refused},
		{name: invalid + "aud", provider: claim("aud", "another"), want: refused},
		{name: basic + "-missing-iat", provider: claim("iat", nil), want: refused},
		{name: basic + "-kid-absent-single-jwks", provider: func(w world) { signed(jose.RS256, w.Key, "")(w) }},
		// The module lets clients try all keys, or refuse the token.
		{name: basic + "-kid-absent-multiple-jwks", provider: func(w world) {
			w.publish(outside.JWK(t, w.Key.Public(), "k1"), outside.JWK(t, other.Public(), "k2"))
			signed(jose.RS256, w.Key, "")(w)
		}, want: refused},
		{name: basic + "-idtoken-sig-rs256", provider: honest},
		// The module lets clients of the flow with a code take the token, or refuse it.
		{name: basic + "-idtoken-sig-none", provider: func(w world) { w.SignBy(unsigned) }, want: refused},
		{name: invalid + "sig-rs256", provider: signed(jose.RS256, other, "k1"), want: refused},
		{name: basic + "-userinfo-invalid-sub", provider: func(w world) {
			userinfoOnly(w)
			w.Change(outside.Userinfo, func(c outside.Claims) { c["sub"] = "somebody else" })
		}, want: refused, userinfo: 1},
		{name: basic + "-nonce-invalid", provider: claim("nonce", "another"), want: refused},
		{name: basic + "-scope-userinfo-claims", provider: userinfoOnly, userinfo: 1},
		{name: basic + "-client-secret-basic", provider: honest}, // the provider takes nothing else

		{name: basic + "-discovery-openid-config", provider: honest},
		{name: basic + "-discovery-jwks-uri-keys", provider: func(w world) {
			w.Change(outside.Metadata, func(c outside.Claims) { c["jwks_uri"] = w.URL + "/keys?elsewhere" })
		}, keys: 1},
		{name: basic + "-discovery-issuer-mismatch", provider: func(w world) {
			w.Change(outside.Metadata, func(c outside.Claims) { c["issuer"] = "https://evil.example/{tenantid}/v2.0" })
		}, want: idpfault.ErrIdpAway},
		{name: basic + "-signing-key-rotation-just-before-signing", provider: func(w world) {
			w.SignBy(func(c outside.Claims) string {
				w.publish(outside.JWK(t, other.Public(), "k2"))
				return outside.Sign(t, jose.RS256, other, "k2", c)
			})
		}},
		{name: basic + "-signing-key-rotation", provider: func(w world) {
			if _, err := w.login(provider(anybody)); err != nil {
				t.Error(err)
			}
			w.publish(outside.JWK(t, other.Public(), "k2"))
			signed(jose.RS256, other, "k2")(w)
		}, keys: 2},

		{name: basic + "-missing-aud", provider: claim("aud", nil), want: refused},
		{name: invalid + "sig-hs256", want: refused,
			provider: signed(jose.HS256, []byte(strings.Repeat(outside.ClientSecret, 3)), "k1")},
		{name: invalid + "sig-es256", provider: signed(jose.ES256, curve, "k1"), want: refused},
		{name: basic + "-userinfo-bearer-header", provider: userinfoOnly, userinfo: 1},
		{name: basic + "-ignores-unparseable-key-in-jwks", provider: func(w world) {
			w.publish(outside.Claims{"kty": "AKP", "alg": "ML-DSA-99", "kid": "new", "pub": "AAAA"},
				outside.Claims{"kty": "invented", "kid": "other"}, outside.JWK(t, w.Key.Public(), "k1"))
		}},
	}
}

// Herald does as a relying party what the modules of the conformance suite ask for.
func TestModulesOfTheConformanceSuitePass(t *testing.T) {
	t.Parallel()
	for _, m := range modules(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m.provider(w)
			got, err := w.login(provider(anybody))
			if !errors.Is(err, m.want) {
				t.Fatalf("%+v, %v", got, err)
			}
			if m.want == nil && (got.ObjectID != outside.Ada || got.Email != "ada@company.example" ||
				got.First != "Ada") {
				t.Errorf("%+v", got)
			}
			if n := w.Asked(outside.Userinfo); n != m.userinfo {
				t.Errorf("asked for userinfo %d times", n)
			}
			if n := w.Asked(outside.Keys); m.keys != 0 && n != m.keys {
				t.Errorf("asked for the keys %d times", n)
			}
		})
	}
}

// publish replaces the keys of the directory.
func (w world) publish(keys ...outside.Claims) {
	w.Change(outside.Keys, func(c outside.Claims) { c["keys"] = keys })
}

// userinfoOnly leaves the names and the address to userinfo.
func userinfoOnly(w world) {
	w.Change(outside.IDToken, func(c outside.Claims) { c["email"], c["given_name"], c["family_name"] = nil, nil, nil })
}

// unsigned returns a token without a signature (RFC 7519 section 6.1).
func unsigned(c outside.Claims) string {
	text, _ := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(text) + "."
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newCurve(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// A key may be valid for the tokens of some tenants only. A token of another tenant that it has signed is refused.
func TestKeySignsTokensOfItsIssuerOnly(t *testing.T) {
	t.Parallel()
	for issuer, admitted := range map[string]bool{
		"/{tenantid}/v2.0": true, "/" + outside.Company + "/v2.0": true, "/" + outside.OtherCompany + "/v2.0": false,
		"/" + outside.Personal + "/v2.0": false, "/v2.0": false,
	} {
		t.Run(issuer, func(t *testing.T) {
			w := newWorld(t)
			w.Change(outside.Keys, func(c outside.Claims) {
				key := outside.JWK(t, w.Key.Public(), "k1")
				key["issuer"] = w.URL + issuer
				c["keys"] = []outside.Claims{key}
			})
			_, err := w.login(provider(anybody))
			if admitted != (err == nil) || !admitted && !errors.Is(err, idpfault.ErrIdpTenantRefused) {
				t.Error(err)
			}
		})
	}
}

// New keys are found at once, also a key with the id of the old one. If no key can verify a token, Herald reads the
// keys again, but not for each such token.
func TestNewKeysAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"another id": "k2", "the same id": "k1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			clock := testkit.ClockAt(time.Now())
			w.herald = heraldAt(t, w.URL, clock.Now)
			next, never := newRSA(t), newRSA(t)
			signBy := func(key *rsa.PrivateKey) {
				w.SignBy(func(c outside.Claims) string { return outside.Sign(t, jose.RS256, key, id, c) })
			}
			login := func(what string, want error, asked int) {
				t.Helper()
				if _, err := w.login(provider(anybody)); !errors.Is(err, want) || w.Asked(outside.Keys) != asked {
					t.Errorf("%s: %v after asking %d times, not %d", what, err, w.Asked(outside.Keys), asked)
				}
			}
			login("first", nil, 1)
			w.publish(outside.JWK(t, next.Public(), id))
			signBy(next)
			login("new", nil, 2)
			signBy(never)
			for range 5 {
				login("forged", idpfault.ErrIdpTokenInvalid, 2)
			}
			clock.Advance(10 * time.Second)
			login("forged later", idpfault.ErrIdpTokenInvalid, 3)
			signBy(next)
			login("new later", nil, 3)
			// While the directory does not answer, the kept keys are used for an hour.
			w.Replace(outside.Metadata, http.NotFound)
			w.Replace(outside.Keys, http.NotFound)
			clock.Advance(50 * time.Minute)
			login("away", nil, 3)
			clock.Advance(10 * time.Minute)
			login("away for long", idpfault.ErrIdpAway, 3)
		})
	}
}

// Herald asks for the keys and the token at the same time. The directory here answers neither request before it has
// both.
func TestKeysAreReadBesideTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	both := sync.WaitGroup{}
	both.Add(2)
	for _, what := range []string{outside.Token, outside.Keys} {
		w.Replace(what, func(out http.ResponseWriter, r *http.Request) {
			both.Done()
			both.Wait()
			http.NotFound(out, r)
		})
	}
	if _, err := w.login(provider(anybody)); !errors.Is(err, idpfault.ErrIdpAway) ||
		strings.Contains(err.Error(), "deadline") {
		t.Error(err)
	}
}

// The log has one line when an outage of the directory begins, whichever and however many requests fail. An answer that
// refuses a request is not an outage.
func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	var clock testkit.Clock // each login comes when the directory is asked again
	w.herald = newHerald(t, directory.Config{Authority: w.URL, Log: log, Now: clock.Now})
	w.Replace(outside.Metadata, http.NotFound)
	if _, err := w.login(provider(anybody)); !errors.Is(err, idpfault.ErrIdpAway) ||
		errors.Is(err, directory.ErrOutage) {
		t.Error(err)
	}
	down := func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusBadGateway) }
	w.Replace(outside.Metadata, down)
	for range 5 {
		clock.Advance(11 * time.Second)
		if _, err := w.login(provider(anybody)); !errors.Is(err, idpfault.ErrIdpAway) ||
			!errors.Is(err, directory.ErrOutage) {
			t.Error(err)
		}
	}
	clock.Advance(11 * time.Second)
	w.Honest()
	w.Replace(outside.Token, down)
	w.Replace(outside.Keys, down)
	if _, err := w.login(provider(anybody)); !errors.Is(err, idpfault.ErrIdpAway) ||
		!errors.Is(err, directory.ErrOutage) {
		t.Error(err)
	}
	if text := logged.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "502 Bad Gateway") {
		t.Errorf("the log is %s", text)
	}
}

// A failed reading of metadata or keys is not repeated for ten seconds, whoever begins a login.
func TestFailedReadingIsRemembered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, name, body string
		status           int
	}{
		{outside.Metadata, "404", "{}", 404},
		{outside.Metadata, "another issuer", `{"issuer":"https://x.example"}`, 200},
		{outside.Keys, "404", "{}", 404},
		{outside.Keys, "too many", `{"keys":[` + strings.Repeat("{},", 200) + `{}]}`, 200},
	} {
		t.Run(c.what+" "+c.name, func(t *testing.T) {
			d := outside.StartDirectory(t)
			var clock testkit.Clock
			w := world{d, heraldAt(t, d.URL, clock.Now)}
			var asked atomic.Int64
			w.Replace(c.what, func(out http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				out.Header().Set("Content-Type", "application/json")
				out.WriteHeader(c.status)
				_, _ = out.Write([]byte(c.body))
			})
			for range 20 {
				if _, err := w.login(provider(anybody)); !errors.Is(err, idpfault.ErrIdpAway) {
					t.Fatal(err)
				}
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
			w.Honest()
			clock.Advance(11 * time.Second)
			if _, err := w.login(provider(anybody)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Strangers who hang up while the directory hangs cause one request together, and its failure is remembered.
func TestHangingDirectoryIsAskedOnce(t *testing.T) {
	t.Parallel()
	for _, what := range []string{outside.Metadata, outside.Keys} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			i := provider(anybody)
			var codes []string
			if what == outside.Keys { // the address of a login needs the metadata
				for range 21 {
					to, err := w.begin(i)
					if err != nil {
						t.Fatal(err)
					}
					codes = append(codes, w.Code(to.Query()))
				}
			}
			hang := make(chan struct{})
			asked := make(chan struct{}, 100)
			w.Replace(what, func(out http.ResponseWriter, _ *http.Request) {
				asked <- struct{}{}
				<-hang
				out.WriteHeader(http.StatusBadGateway)
			})
			begin := func(ctx context.Context, n int) error {
				if what == outside.Metadata {
					_, err := w.herald.Address(ctx, i, directory.Login{})
					return err
				}
				_, err := w.herald.Account(ctx, i, secret.NewText(outside.ClientSecret), directory.Answer{
					Code: codes[n], Nonce: "nonce", Verifier: verifier})
				return err
			}
			ctx, leave := context.WithCancel(t.Context())
			var gone sync.WaitGroup
			for n := range 20 {
				gone.Go(func() {
					if err := begin(ctx, n); !errors.Is(err, idpfault.ErrIdpAway) {
						t.Error(err)
					}
				})
			}
			<-asked
			leave()
			gone.Wait()
			close(hang)
			if err := begin(t.Context(), 20); !errors.Is(err, directory.ErrOutage) {
				t.Error(err)
			}
			if len(asked) != 0 {
				t.Errorf("asked %d times more", len(asked))
			}
		})
	}
}
