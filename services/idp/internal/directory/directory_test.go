package directory_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/services/idp/internal/directory"
	"herald/services/idp/internal/domain"
	"herald/shared/contract"
	"herald/shared/gen/fault/idpfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit/outside"
)

const callback = "https://login.example.com/ui/login/externalidp/callback"

// world is a directory and Herald's side of it.
type world struct {
	*outside.Directory
	herald *directory.Directory
}

func newWorld(t testing.TB) world {
	t.Helper()
	d := outside.StartDirectory(t)
	return world{d, herald(t, d.URL)}
}

func herald(t testing.TB, authority string) *directory.Directory {
	return heraldAt(t, authority, time.Now)
}

func heraldAt(t testing.TB, authority string, now func() time.Time) *directory.Directory {
	t.Helper()
	return newHerald(t, directory.Config{Authority: authority, Now: now, Log: slog.New(slog.DiscardHandler)})
}

func newHerald(t testing.TB, c directory.Config) *directory.Directory {
	t.Helper()
	c.Private, c.Callback = true, callback
	h, err := directory.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// provider returns a provider with all options for accounts of a tenant.
func provider(tenant domain.Tenant) domain.Idp {
	return domain.Idp{ID: "i1", ClientID: outside.ClientID, Settings: domain.Settings{
		Tenant: tenant, Scopes: []string{"openid", "profile", "email"},
		Options: domain.Options{IsCreationAllowed: true, IsAutoUpdate: true},
	}}
}

var anybody = domain.Tenant{}

const verifier = "verifier-verifier-verifier-verifier-verifier"

// login goes to the directory and comes back with the parameters of the request.
func (w world) login(i domain.Idp) (domain.Account, error) {
	w.Helper()
	u, err := w.begin(i)
	if err != nil {
		return domain.Account{}, err
	}
	return w.herald.Account(w.Context(), i, secret.NewText(outside.ClientSecret), directory.Answer{
		Code: w.Code(u.Query()), Nonce: "nonce", Verifier: verifier,
	})
}

// begin returns where a login goes.
func (w world) begin(i domain.Idp) (*url.URL, error) {
	w.Helper()
	address, err := w.herald.Address(w.Context(), i, directory.Login{State: "state", Nonce: "nonce",
		Challenge: base64.RawURLEncoding.EncodeToString(secret.Hash(verifier))})
	if err != nil {
		return nil, err
	}
	return url.Parse(address)
}

func TestLoginReturnsTheAccountOfTheToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.LogIn(outside.Claims{"auth_time": 1700000000, "amr": []string{"pwd", "mfa", "pwd", "unknown"}, "locale": "de-CH"})
	got, err := w.login(provider(anybody))
	want := domain.Account{TenantID: outside.Company, ObjectID: outside.Ada, UserName: "ada@company.example",
		DisplayName: "Ada Lovelace", First: "Ada", Last: "Lovelace", Email: "ada@company.example",
		PreferredLanguage: "de-CH", AuthTime: 1700000000, AMR: []string{"pwd", "mfa"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	// The id token has everything, so userinfo is not asked. Metadata and keys are kept.
	if _, err := w.login(provider(anybody)); err != nil || w.Asked(outside.Userinfo) != 0 ||
		w.Asked(outside.Metadata) != 1 || w.Asked(outside.Keys) != 1 {
		t.Errorf("%v, userinfo %d, metadata %d, keys %d", err, w.Asked(outside.Userinfo), w.Asked(outside.Metadata),
			w.Asked(outside.Keys))
	}
}

// Characters that nobody sees are left out of names. An address with them stays what it is, because without them it may
// be somebody else's.
func TestNamesAreWhatTheyLookLike(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.LogIn(outside.Claims{"name": "\u202eAda\u2066 Love\u200blace\ufe0f", "given_name": "A\u00adda",
		"family_name": " \u200e ", "preferred_username": "ada\u2060@company.example", "email": nil})
	got, err := w.login(provider(anybody))
	if err != nil || got.DisplayName != "Ada Lovelace" || got.First != "Ada" || got.Last != "" ||
		got.UserName != "ada@company.example" || got.Email == got.UserName {
		t.Errorf("%+v, %v", got, err)
	}
}

// Names are cleaned until users accept them, whatever the directory sends: the rules are those of all names.
func TestNamesPassTheRulesOfUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for claim, want := range map[string]string{
		"Ada\tLove\nlace":         "AdaLovelace",
		"می\u200cخواهم":           "می\u200cخواهم",
		"A\u200cda":               "Ada",
		strings.Repeat("ü", 300):  strings.Repeat("ü", 200),
		strings.Repeat("a", 1000): strings.Repeat("a", 200),
		strings.Repeat("م", 199) + "\u200c" + "خواهم": strings.Repeat("م", 199),
		strings.Repeat("a", 199) + " " + "Lovelace":   strings.Repeat("a", 199),
		"\u202e\u2066":        "",
		"x\u180b\u200c\u1820": "x\u1820",
	} {
		w.LogIn(outside.Claims{"name": claim, "given_name": claim, "family_name": claim, "nickname": claim})
		got, err := w.login(provider(anybody))
		if err != nil || got.DisplayName != want || got.First != want || got.Last != want || got.Nick != want {
			t.Errorf("%+q: %+q, %v", claim, got.First, err)
		}
		if want == "" {
			continue
		}
		if err := contract.Validate(&usersv1.Profile{FirstName: got.First, LastName: got.Last}); err != nil {
			t.Errorf("%+q: users refuse %+q: %v", claim, got.First, err)
		}
	}
}

// A directory says a phone in any of its forms. Only true is true.
func TestPhoneOfADirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := provider(anybody)
	i.Scopes, i.Options.IsAutoUpdate = []string{"openid", "phone"}, true
	for _, c := range []struct {
		phone, verified any
		want            string
		is              bool
	}{
		{"+41 (79) 123-45.67", true, "+41791234567", true},
		{"+41791234567", "true", "+41791234567", true},
		{"+41791234567", "yes", "+41791234567", false},
		{"+41791234567", nil, "+41791234567", false},
		{"079 123 45 67", true, "", false},
		{nil, true, "", false},
	} {
		w.LogIn(outside.Claims{"phone_number": c.phone, "phone_number_verified": c.verified, "locale": "not a tag"})
		got, err := w.login(i)
		if err != nil || got.Phone != c.want || got.PhoneVerified != c.is || got.PreferredLanguage != "" {
			t.Errorf("%v, %v: %q, %t, %v", c.phone, c.verified, got.Phone, got.PhoneVerified, err)
		}
	}
}

func TestAddressOfALoginHasItsParameters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := provider(anybody)
	i.Scopes = []string{"User.Read"}
	for _, again := range []bool{false, true} {
		address, err := w.herald.Address(t.Context(), i, directory.Login{
			State: "s", Nonce: "n", Challenge: "c", Again: again,
		})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		want := url.Values{"client_id": {outside.ClientID}, "redirect_uri": {callback}, "response_type": {"code"},
			"scope": {"openid User.Read"}, "state": {"s"}, "nonce": {"n"}, "code_challenge": {"c"},
			"code_challenge_method": {"S256"}, "max_age": {"864000"}}
		if again {
			want["prompt"], want["max_age"] = []string{"login"}, []string{"0"}
		}
		if u.Query().Encode() != want.Encode() || !strings.HasPrefix(address, w.URL+"/authorize?") {
			t.Errorf("%s", address)
		}
	}
}

// The tenant of a provider decides which accounts can log in.
func TestOnlyAccountsOfTheTenantLogIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	of := func(id string) domain.Tenant {
		made, err := domain.NewTenant(domain.TenantCommon, &id)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	organizations := domain.Tenant{TenantType: domain.TenantOrganizations}
	consumers := domain.Tenant{TenantType: domain.TenantConsumers}
	for _, c := range []struct {
		name string
		domain.Tenant
		company, other, personal bool
	}{
		{"common", anybody, true, true, true},
		{"organizations", organizations, true, true, false},
		{"consumers", consumers, false, false, true},
		{"one", of(outside.Company), true, false, false},
		{"one in capitals", of(strings.ToUpper(outside.Company)), true, false, false},
		{"another", of(outside.OtherCompany), false, true, false},
		{"domain", of(outside.Domain), true, false, false},
	} {
		for tenant, admitted := range map[string]bool{
			outside.Company: c.company, outside.OtherCompany: c.other, outside.Personal: c.personal,
		} {
			t.Run(c.name+", tenant "+tenant, func(t *testing.T) {
				w.LogIn(outside.Claims{"tid": tenant})
				got, err := w.login(provider(c.Tenant))
				if admitted && (err != nil || got.TenantID != tenant) ||
					!admitted && !errors.Is(err, idpfault.ErrIdpTenantRefused) {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
	}
}

// A token with wrong claims is refused, although the directory has signed it.
func TestTokenWithWrongClaimsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	for name, c := range map[string]struct {
		claims outside.Claims
		want   error
	}{
		"issuer of another tenant": {outside.Claims{"iss": w.URL + "/" + outside.OtherCompany + "/v2.0"},
			idpfault.ErrIdpTenantRefused},
		"issuer of another directory": {
			outside.Claims{"iss": "https://evil.example/" + outside.Company + "/v2.0"}, idpfault.ErrIdpTenantRefused,
		},
		"issuer of the metadata": {outside.Claims{"iss": w.URL + "/{tenantid}/v2.0"}, idpfault.ErrIdpTenantRefused},
		"issuer without a version": {
			outside.Claims{"iss": w.URL + "/" + outside.Company}, idpfault.ErrIdpTenantRefused,
		},
		"tenant is no guid": {outside.Claims{"tid": "..", "iss": w.URL + "/../v2.0"},
			idpfault.ErrIdpTenantRefused},
		"no issuer":                     {outside.Claims{"iss": nil}, idpfault.ErrIdpTenantRefused},
		"no tenant":                     {outside.Claims{"tid": nil}, idpfault.ErrIdpTokenInvalid},
		"no object":                     {outside.Claims{"oid": nil}, idpfault.ErrIdpTokenInvalid},
		"object is a number":            {outside.Claims{"oid": 7}, idpfault.ErrIdpTokenInvalid},
		"object with a NUL":             {outside.Claims{"oid": "a\x00b"}, idpfault.ErrIdpTokenInvalid},
		"object in two lines":           {outside.Claims{"oid": "a\nb"}, idpfault.ErrIdpTokenInvalid},
		"object with a space before it": {outside.Claims{"oid": " a"}, idpfault.ErrIdpTokenInvalid},
		"authenticated in the future": {outside.Claims{"auth_time": now.Add(time.Minute).Unix()},
			idpfault.ErrIdpTokenInvalid},
		"long object": {outside.Claims{"oid": strings.Repeat("a", 201)}, idpfault.ErrIdpTokenInvalid},
		"audience":    {outside.Claims{"aud": "another"}, idpfault.ErrIdpTokenInvalid},
		"two audiences": {outside.Claims{"aud": []string{outside.ClientID, "another"}},
			idpfault.ErrIdpTokenInvalid},
		"no audience":          {outside.Claims{"aud": nil}, idpfault.ErrIdpTokenInvalid},
		"another azp":          {outside.Claims{"azp": "another"}, idpfault.ErrIdpTokenInvalid},
		"another nonce":        {outside.Claims{"nonce": "another"}, idpfault.ErrIdpTokenInvalid},
		"no nonce":             {outside.Claims{"nonce": nil}, idpfault.ErrIdpTokenInvalid},
		"expired":              {outside.Claims{"exp": now.Add(-time.Minute).Unix()}, idpfault.ErrIdpTokenInvalid},
		"no expiry":            {outside.Claims{"exp": nil}, idpfault.ErrIdpTokenInvalid},
		"issued in the future": {outside.Claims{"iat": now.Add(time.Hour).Unix()}, idpfault.ErrIdpTokenInvalid},
		"not issued":           {outside.Claims{"iat": nil}, idpfault.ErrIdpTokenInvalid},
		"not valid yet":        {outside.Claims{"nbf": now.Add(time.Hour).Unix()}, idpfault.ErrIdpTokenInvalid},
		"no subject":           {outside.Claims{"sub": nil}, idpfault.ErrIdpTokenInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			w.Honest()
			w.Change(outside.IDToken, func(claims outside.Claims) {
				for claim, value := range c.claims {
					claims[claim] = value
				}
			})
			if got, err := w.login(provider(anybody)); !errors.Is(err, c.want) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// An answer that is malformed or too large makes the login fail in time. The error contains nothing of the answer.
func TestMalformedAnswerEndsTheLogin(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	huge := answer(200, `{"keys":["`+strings.Repeat("a", 1<<20)+`"]}`)
	many := answer(200, `{"keys":[`+strings.Repeat("{},", 200)+`{}]}`)
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
	}
	for _, c := range []struct {
		what, name string
		by         http.HandlerFunc
		want       error
	}{
		{outside.Metadata, "404", answer(404, "{}"), idpfault.ErrIdpAway},
		{outside.Metadata, "no JSON", answer(200, "<html>"), idpfault.ErrIdpAway},
		{outside.Metadata, "empty", answer(200, "{}"), idpfault.ErrIdpAway},
		{outside.Metadata, "huge", huge, idpfault.ErrIdpAway},
		{outside.Metadata, "redirect", redirect, idpfault.ErrIdpAway},
		{outside.Keys, "500", answer(500, ""), idpfault.ErrIdpAway},
		{outside.Keys, "huge", huge, idpfault.ErrIdpAway},
		{outside.Keys, "many", many, idpfault.ErrIdpAway},
		{outside.Keys, "redirect", redirect, idpfault.ErrIdpAway},
		{outside.Keys, "none", answer(200, `{"keys":[]}`), idpfault.ErrIdpTokenInvalid},
		{outside.Token, "500", answer(500, `{"error":"invalid_grant"}`), idpfault.ErrIdpAway},
		{outside.Token, "no JSON", answer(200, "<html>"), idpfault.ErrIdpAway},
		{outside.Token, "huge", huge, idpfault.ErrIdpAway},
		{outside.Token, "redirect", redirect, idpfault.ErrIdpAway},
		{
			outside.Token, "refused", answer(400, `{"error":"invalid_client","error_description":"canary"}`),
			idpfault.ErrIdpCodeRefused,
		},
		{outside.Token, "no id token", answer(200, `{"access_token":"a","token_type":"Bearer"}`),
			idpfault.ErrIdpTokenInvalid},
		{
			outside.Token, "no token", answer(200, `{"access_token":"a","token_type":"Bearer","id_token":"canary"}`),
			idpfault.ErrIdpTokenInvalid,
		},
		{outside.Userinfo, "500", answer(500, "canary"), idpfault.ErrIdpAway},
		{outside.Userinfo, "huge", huge, idpfault.ErrIdpAway},
	} {
		t.Run(c.what+" "+c.name, func(t *testing.T) {
			w := newWorld(t)
			w.Change(outside.IDToken, func(c outside.Claims) { c["email"] = nil })
			w.Replace(c.what, c.by)
			got, err := w.login(provider(anybody))
			if !errors.Is(err, c.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// An answer that never ends is given up when the caller's time is over.
func TestEndlessAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, what := range []string{outside.Metadata, outside.Keys, outside.Token} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.Replace(what, func(out http.ResponseWriter, r *http.Request) {
				_, _ = out.Write([]byte("{"))
				_ = http.NewResponseController(out).Flush()
				<-r.Context().Done()
			})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := w.herald.Account(ctx, provider(anybody), secret.NewText(outside.ClientSecret), directory.Answer{
				Code: w.Code(url.Values{"redirect_uri": {callback}, "nonce": {"n"},
					"code_challenge": {base64.RawURLEncoding.EncodeToString(secret.Hash("v"))}}),
				Nonce: "n", Verifier: "v"})
			cancel()
			if !errors.Is(err, idpfault.ErrIdpAway) {
				t.Error(err)
			}
		})
	}
}

// The metadata must name the directory that was asked as issuer, and must have only addresses with TLS.
func TestMetadataOfAnotherDirectoryAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(outside.Claims){
		"another issuer":     func(c outside.Claims) { c["issuer"] = "https://evil.example/{tenantid}/v2.0" },
		"no tenant":          func(c outside.Claims) { c["issuer"] = "https://evil.example/v2.0" },
		"file":               func(c outside.Claims) { c["jwks_uri"] = "file:///etc/passwd" },
		"no host":            func(c outside.Claims) { c["token_endpoint"] = "https:///token" },
		"script":             func(c outside.Claims) { c["authorization_endpoint"] = "javascript:alert(1)" },
		"userinfo elsewhere": func(c outside.Claims) { c["userinfo_endpoint"] = "gopher://evil.example" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Change(outside.Metadata, change)
			if _, err := w.login(provider(anybody)); !errors.Is(err, idpfault.ErrIdpAway) {
				t.Error(err)
			}
		})
	}
	// If the domain belongs to no tenant, nobody can log in.
	w := newWorld(t)
	w.Change(outside.Metadata, func(c outside.Claims) { c["issuer"] = w.URL + "/{tenantid}/v2.0" })
	if _, err := w.login(provider(domain.Tenant{TenantID: outside.Domain})); !errors.Is(err,
		idpfault.ErrIdpTenantRefused) {
		t.Error(err)
	}
}

func TestAuthorityHasTLSUnlessItIsOnThisMachine(t *testing.T) {
	t.Parallel()
	for authority, private := range map[string][2]bool{ // accepted without and with HERALD_OUTBOUND_PRIVATE
		"https://login.microsoftonline.com": {true, true}, "https://login.example.us/": {true, true},
		"http://127.0.0.1:8080": {false, true}, "http://localhost:80": {false, true},
		"http://login.example.com": {false, false}, "http://10.0.0.1": {false, false}, "": {false, false},
		"login.example.com": {false, false}, "https://user@login.example.com": {false, false},
		"https://login.example.com?a": {false, false}, "ftp://login.example.com": {false, false},
	} {
		for i, allowed := range private {
			t.Run(fmt.Sprintf("%s, private: %t", authority, i == 1), func(t *testing.T) {
				_, err := directory.New(directory.Config{Authority: authority, Private: i == 1, Now: time.Now})
				if (err == nil) != allowed {
					t.Error(err)
				}
			})
		}
	}
}

// Without the setting, Herald sends no requests to its own machine, whatever addresses the directory has published.
func TestPrivateAddressesAreNotCalled(t *testing.T) {
	t.Parallel()
	for _, authority := range []string{"https://127.0.0.1:1", "https://169.254.169.254", "https://[::1]:1",
		"https://localhost:1"} {
		t.Run(authority, func(t *testing.T) {
			h, err := directory.New(directory.Config{
				Authority: authority, Callback: callback, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Address(t.Context(), provider(anybody), directory.Login{State: "s", Nonce: "n", Challenge: "c"})
			if !errors.Is(err, idpfault.ErrIdpAway) || !strings.Contains(err.Error(), "not public") {
				t.Error(err)
			}
		})
	}
}
