package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

func encode(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

// forged returns a token with any header, signed by a function.
func forged(header, payload string, sign func(input []byte) []byte) string {
	input := encode([]byte(header)) + "." + encode([]byte(payload))
	return input + "." + encode(sign([]byte(input)))
}

func withRSA(t testing.TB, key *rsa.PrivateKey) func([]byte) []byte {
	return func(input []byte) []byte {
		sum := sha256.Sum256(input)
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return signature
	}
}

func withECDSA(t testing.TB, key *ecdsa.PrivateKey) func([]byte) []byte {
	return func(input []byte) []byte {
		sum := sha256.Sum256(input)
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
}

func withHMAC(secret []byte) func([]byte) []byte {
	return func(input []byte) []byte {
		h := hmac.New(sha256.New, secret)
		h.Write(input)
		return h.Sum(nil)
	}
}

func unsigned([]byte) []byte { return nil }

func TestSignedTokenIsVerifiedAsItsKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.replica()
	for _, kind := range []Kind{IDToken(), AccessToken()} {
		token := w.sign(k, kind)
		got, err := k.Verify(kind, token)
		if err != nil || string(got) != `{"sub":"u1"}` {
			t.Errorf("%s: %s, %v", kind.typ, got, err)
		}
		head, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
		if want := fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":%q}`, kind.algorithm, w.kid(token), kind.typ); err != nil ||
			string(head) != want {
			t.Errorf("the header is %s, not %s: %v", head, want, err)
		}
		if _, err := k.Sign(kind, make(chan int)); err == nil {
			t.Error("claims that are not JSON are signed")
		}
	}
	if _, err := k.Verify(AccessToken(), w.sign(k, IDToken())); !errors.Is(err, ErrToken) {
		t.Errorf("an id token as access token: %v", err)
	}
	if _, err := k.Verify(IDToken(), w.sign(k, AccessToken())); !errors.Is(err, ErrToken) {
		t.Errorf("an access token as id token: %v", err)
	}
}

// forger makes forged tokens, with Herald's keys and with foreign keys.
type forger struct {
	rsa                       *key
	own, foreignRS, foreignES func(input []byte) []byte
	foreignEC                 *ecdsa.PrivateKey
}

func newForger(t *testing.T, k *Keys) forger {
	t.Helper()
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f := forger{
		rsa: k.ring.Load().signing("RS256", k.Now()), foreignRS: withRSA(t, foreignRSA()),
		foreignES: withECDSA(t, foreign), foreignEC: foreign,
	}
	f.own = withRSA(t, f.rsa.pair.(*rsa.PrivateKey))
	return f
}

// id returns the header of an id token with more members behind.
func (f forger) id(more string) string { return header("RS256", f.rsa.id, `"JWT"`+more) }

// at returns the header of an access token with more members behind.
func (f forger) at(more string) string { return header("RS256", f.rsa.id, `"at+jwt"`+more) }

// es returns the header of an access token by an algorithm that Herald does not use, with more members behind.
func (f forger) es(more string) string { return header("ES256", f.rsa.id, `"at+jwt"`+more) }

func header(alg, kid, typ string) string {
	return fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":%s}`, alg, kid, typ)
}

func jwk(t *testing.T, key any, kid string) string {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKey{Key: key, KeyID: kid, Use: "sig"})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const claims = `{"sub":"root"}`

// refuse fails the test for tokens that are accepted as any kind.
func refuse(t *testing.T, k *Keys, tokens map[string]string) {
	t.Helper()
	for name, token := range tokens {
		for _, kind := range []Kind{IDToken(), AccessToken()} {
			if got, err := k.Verify(kind, token); !errors.Is(err, ErrToken) || got != nil {
				t.Errorf("%s as %s: %s, %v", name, kind.typ, got, err)
			}
		}
	}
}

// A key of Herald verifies only its own algorithm. A key inside a token, or at an address in it, verifies nothing.
func TestForeignKeyOrAlgorithmIsRefused(t *testing.T) {
	t.Parallel()
	k := newWorld(t).replica()
	f := newForger(t, k)
	id, typ := f.rsa.id, `"JWT"`
	der := publicDER(t, f.rsa.pair.Public())
	inPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	own, ownJWK := header("HS256", id, typ), jwk(t, f.rsa.pair.Public(), id)
	foreignJWK, foreignEC := jwk(t, foreignRSA().Public(), id), jwk(t, f.foreignEC.Public(), id)
	const jku, x5u = `,"jku":"https://evil.example/keys"`, `,"x5u":"https://evil.example/cert"`
	refuse(t, k, map[string]string{
		"none":                             forged(header("none", id, typ), claims, unsigned),
		"none in capitals":                 forged(header("NONE", id, `"at+jwt"`), claims, unsigned),
		"no alg":                           forged(`{"kid":"`+id+`","typ":"JWT"}`, claims, unsigned),
		"no signature":                     forged(f.id(""), claims, unsigned),
		"HS256 with the public key":        forged(own, claims, withHMAC(der)),
		"HS256 with the public key in PEM": forged(own, claims, withHMAC(inPEM)),
		"HS256 with the JWK":               forged(own, claims, withHMAC([]byte(ownJWK))),
		"HS256 as access token":            forged(header("HS256", id, `"at+jwt"`), claims, withHMAC(der)),
		"HMAC called RS256":                forged(f.id(""), claims, withHMAC(der)),
		"PS256":                            forged(header("PS256", id, typ), claims, f.own),
		"another RSA key under our kid":    forged(f.id(""), claims, f.foreignRS),
		"the same as access token":         forged(f.at(""), claims, f.foreignRS),
		"another EC key under our kid":     forged(f.es(""), claims, f.foreignES),
		"jwk":                              forged(f.id(`,"jwk":`+foreignJWK), claims, f.foreignRS),
		"jwk of EC":                        forged(f.es(`,"jwk":`+foreignEC), claims, f.foreignES),
		"jwk and an own signature":         forged(f.id(`,"jwk":`+ownJWK), claims, f.own),
		"jku":                              forged(f.id(jku), claims, f.foreignRS),
		"jku and an own signature":         forged(f.at(jku), claims, f.own),
		"x5u":                              forged(f.id(x5u), claims, f.foreignRS),
		"x5u and an own signature":         forged(f.id(x5u), claims, f.own),
		"x5c":                              forged(f.id(`,"x5c":["AAAA"]`), claims, f.foreignRS),
		"unknown kid":                      forged(header("RS256", "x", typ), claims, f.own),
		"kid of a path":                    forged(header("RS256", "../../dev/null", typ), claims, withHMAC(nil)),
		"no kid":                           forged(`{"alg":"RS256","typ":"JWT"}`, claims, f.own),
		"kid twice":                        forged(f.id(`,"kid":"x"`), claims, f.own),
		"signature of zeros": forged(f.at(""), claims, func([]byte) []byte {
			return make([]byte, bits/8)
		}),
	})
}

// The header is that of the kind, and the token has its form and size.
func TestWrongHeaderOrFormIsRefused(t *testing.T) {
	t.Parallel()
	k := newWorld(t).replica()
	f := newForger(t, k)
	id, many := f.rsa.id, strings.Repeat("a", 1<<20)
	refuse(t, k, map[string]string{
		"no typ":                         forged(`{"alg":"RS256","kid":"`+id+`"}`, claims, f.own),
		"another typ":                    forged(header("RS256", id, `"logout+jwt"`), claims, f.own),
		"the other algorithm of the typ": forged(header("ES256", id, `"JWT"`), claims, f.foreignES),
		"typ that is no text":            forged(header("RS256", id, `["JWT"]`), claims, f.own),
		"typ in lower case":              forged(header("RS256", id, `"jwt"`), claims, f.own),
		"crit":                           forged(f.id(`,"crit":["exp"],"exp":1`), claims, f.own),
		"payload not encoded":            forged(f.id(`,"b64":false,"crit":["b64"]`), claims, f.own),
		"a header that is no object":     forged(`[]`, claims, f.own),
		"1 MB":                           forged(f.id(""), `{"a":"`+many+`"}`, f.own),
		"1 MB of header":                 forged(f.id(`,"a":"`+many+`"`), claims, f.own),
		"1 MB of dots":                   strings.Repeat(".", 1<<20),
		"one byte more than the limit":   long(f.id(""), f.own, MaxToken+1),
		"nothing":                        "",
		"dots alone":                     "..",
		"JSON serialization":             `{"payload":"e30","signatures":[]}`,
		"five parts":                     forged(f.id(""), claims, f.own) + ".e30.e30",
	})
	// The same tokens without these faults are accepted.
	for name, token := range map[string]string{
		"RS256": forged(f.id(""), claims, f.own), "the longest": long(f.id(""), f.own, MaxToken),
	} {
		if _, err := k.Verify(IDToken(), token); err != nil {
			t.Errorf("%s of %d bytes: %v", name, len(token), err)
		}
	}
	if _, err := k.Verify(AccessToken(), forged(f.at(""), claims, f.own)); err != nil {
		t.Errorf("access token: %v", err)
	}
}

// long returns an id token of at least a size in bytes, and of just that size if there is one.
func long(header string, sign func([]byte) []byte, size int) string {
	for n := size / 2; ; n++ {
		payload := `{"a":"` + strings.Repeat("a", n) + `"}`
		if len(forged(header, payload, func([]byte) []byte { return make([]byte, bits/8) })) >= size {
			return forged(header, payload, sign)
		}
	}
}

// A token has one text: another text that decodes to the same bytes is refused, and so is one with a changed bit.
func TestChangedTokenIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.replica()
	for _, kind := range []Kind{IDToken(), AccessToken()} {
		token := w.sign(k, kind)
		altered := []string{token + "=", token + "\n", "\r\n" + token, " " + token, token + ".", "Bearer " + token,
			strings.ToLower(token), strings.ToUpper(token), token + "A", strings.ReplaceAll(token, ".", "%2e")}
		for i := range token {
			altered = append(altered, token[:i], token[:i]+"\n"+token[i:])
			for bit := range 7 {
				altered = append(altered, token[:i]+string(token[i]^1<<bit)+token[i+1:])
			}
		}
		for _, a := range altered {
			if _, err := k.Verify(kind, a); !errors.Is(err, ErrToken) {
				t.Fatalf("%q is accepted for %q: %v", a, token, err)
			}
		}
	}
}

func FuzzVerify(f *testing.F) {
	w := newWorld(f)
	k := w.replica()
	token := w.sign(k, AccessToken())
	f.Add(token)
	f.Add(w.sign(k, IDToken()))
	f.Add(`eyJhbGciOiJub25lIn0..`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := k.Verify(AccessToken(), text); err == nil && text != token {
			t.Errorf("%q is accepted", text)
		}
	})
}
