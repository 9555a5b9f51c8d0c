package domain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/services/projects/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
)

// redirect is an address with the reason for its refusal, or "" if it is accepted.
type redirect struct {
	config      domain.OIDCConfig
	uri, reason string
}

// The rules of addresses depend also on the development mode.
func TestRedirectURIsFitTheKindOfApplication(t *testing.T) {
	t.Parallel()
	web, dev := domain.OIDCConfig{}, domain.OIDCConfig{DevMode: true}
	agent, native := domain.OIDCConfig{AppType: domain.AppUserAgent}, domain.OIDCConfig{AppType: domain.AppNative}
	const beginHTTPS, scheme = "must begin with https", "reverse domain"
	redirects(t, []redirect{
		{web, "https://app.example.com/callback", ""},
		{web, "https://app.example.com", ""},
		{web, "https://app.example.com:8443/a/b?tenant=1&x=%C3%A9", ""},
		{web, "https://xn--bcher-kva.example/", ""},
		{web, "https://[2001:db8::1]:443/cb", ""},
		{web, "https://192.0.2.1/cb", ""},
		{agent, "https://app.example.com/callback", ""},
		{native, "https://app.example.com/callback", ""},
		{web, "http://localhost/cb", ""},
		{web, "http://LOCALHOST:3000/cb", ""},
		{web, "http://127.0.0.1:3000/cb", ""},
		{agent, "http://[::1]:3000/cb", ""},
		{native, "http://[::1]/cb", ""},
		{dev, "http://app.internal:8080/cb", ""},

		{web, "http://app.example.com/cb", beginHTTPS},
		{native, "http://app.example.com/cb", beginHTTPS},
		{web, "http://localhost.example.com/cb", beginHTTPS},
		{web, "http://127.0.0.1.example.com/cb", beginHTTPS},
		{web, "http://127.0.0.2/cb", beginHTTPS},
		{web, "http://2130706433/cb", beginHTTPS},
		{web, "http://0.0.0.0/cb", beginHTTPS},
		{web, "http://[::ffff:127.0.0.1]/cb", beginHTTPS},

		{native, "com.example.app:/callback", ""},
		{native, "com.example.app://callback", ""},
		{native, "com.example.app:///callback?x=1", ""},
		{web, "com.example.app:/callback", "https"},
		{agent, "com.example.app:/callback", "https"},
		{dev, "com.example.app:/callback", "https"},
		{native, "myapp://callback", scheme},
		{native, "myapp:/callback", scheme},
		{native, "com.example.app:callback", "slash"},
		{native, "com.example.app:", "slash"},
		{native, "javascript:alert(1)", scheme},
		{native, "JavaScript:/alert(1)", scheme},
		{native, "data:text/html,x", scheme},
		{native, "vbscript:x", scheme},
		{native, "file:///etc/passwd", scheme},
		{native, "about:blank", scheme},
		{native, "blob:https://app.example.com/1", scheme},
		{web, "javascript:alert(1)", "https"},
		{agent, "data:text/html,x", "https"},
		{dev, "javascript:alert(1)", "https"},
	})
}

func TestMalformedRedirectURIsAreRefused(t *testing.T) {
	t.Parallel()
	web := domain.OIDCConfig{}
	redirects(t, []redirect{
		{web, "", "signs"},
		{web, "/callback", "scheme"},
		{web, "//app.example.com/callback", "scheme"},
		{web, "app.example.com/callback", "scheme"},
		{web, "https://", "name a host"},
		{web, "https:///callback", "name a host"},
		{web, "https:callback", "name a host"},
		{web, "https://:443/", "name a host"},
		{web, "https://app.example.com:/cb", "name a host"},
		{web, "https://app.example.com:0/cb", "name a host"},
		{web, "https://app.example.com:65536/cb", "name a host"},
		{web, "https://app.example.com:x/cb", "not a URI"},
		{web, "https://app..example.com/cb", "name a host"},
		{web, "https://.example.com/cb", "name a host"},
		{web, "https://app.example.com./cb", "name a host"},
		{web, "https://a,b/cb", "name a host"},
		{web, "https://[::1%25eth0]/cb", "name a host"},
		{web, "https://[127.0.0.1]/cb", "not a URI"},
		{web, "https://app%2eexample.com/cb", "not a URI"},
		{web, "https://b%C3%BCcher.example/cb", "name a host"},
		{web, "https://app.example.com/callback#", "fragment"},
		{web, "https://app.example.com/callback#x", "fragment"},
		{web, "https://user@app.example.com/", "user"},
		{web, "https://user:password@app.example.com/", "user"},
		{web, "https://@app.example.com/", "user"},
		{web, "https://app.example.com@evil.example/", "user"},
		{web, "https://*.example.com/", "wildcard"},
		{web, "https://app.example.com/*", "wildcard"},
		{web, `https://app.example.com\@evil.example/`, "signs"},
		{web, "https://app.example.com/a b", "signs"},
		{web, " https://app.example.com/", "signs"},
		{web, "https://app.example.com/\r\nSet-Cookie:x", "signs"},
		{web, "https://app.example.com/\x00", "signs"},
		{web, "https://bücher.example/", "signs"},
		{web, "https://app.example.com/é", "signs"},
		{web, "https://app.example.com/%zz", "signs"},
		{web, "https://app.example.com/?a=%2", "signs"},
		{web, "https://app.example.com/<script>", "signs"},
		{web, `https://app.example.com/"`, "signs"},
	})
}

func redirects(t *testing.T, all []redirect) {
	t.Helper()
	for _, c := range all {
		c.config = c.config.WithDefaults()
		c.config.RedirectURIs = []string{"https://first.example.com/", c.uri}
		judge(t, c.config, "redirectUris[1]", c.uri, c.reason)
		c.config.RedirectURIs, c.config.PostLogoutRedirectURIs = nil, []string{c.uri}
		judge(t, c.config, "postLogoutRedirectUris[0]", c.uri, c.reason)
	}
}

func TestBackChannelLogoutURIIsAWebAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uri, reason string
		dev         bool
	}{
		{"", "", false},
		{"https://app.example.com/logout?x=1", "", false},
		{"http://localhost:8080/logout", "", false},
		{"http://app.internal/logout", "begin with https", false},
		{"http://app.internal/logout", "", true},
		{"com.example.app:/logout", "https", false},
		{"ftp://app.example.com/", "https", true},
		{"https://app.example.com/logout#x", "fragment", false},
		{"https://a@app.example.com/logout", "user", false},
		{"logout", "scheme", false},
	} {
		config := domain.OIDCConfig{AppType: domain.AppNative, DevMode: c.dev,
			BackChannelLogoutURI: c.uri}.WithDefaults()
		judge(t, config, "backChannelLogoutUri", c.uri, c.reason)
	}
}

func TestClaimWithRolesHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	const letters, other = "letters, digits", "name of another claim"
	for name, reason := range map[string]string{
		"": "", "groups": "", "roles": "", "cognito:groups": "", "https://shop.example/roles": "", "a.b-c_d": "",
		"sub": other, "aud": other, "email": other, "scope": other, "active": other, "herald": other,
		"urn:service:iam:org:project:roles": other, "urn:service:": other, "ath": other, "sub_id": other, "vot": other,
		"ro les": letters, "1": letters, "_x": letters, "ro\u00f6es": letters, "a\n": letters, `a"`: letters,
	} {
		judge(t, domain.OIDCConfig{RolesClaim: name}.WithDefaults(), "rolesClaim", name, reason)
	}
}

func TestLifetimesOfTokensAreMinutesAtLeast(t *testing.T) {
	t.Parallel()
	for lifetime, reason := range map[time.Duration]string{
		0: "", time.Minute: "", time.Hour: "", time.Minute - 1: "at least 1 minute", 1: "at least 1 minute",
	} {
		for path, c := range map[string]domain.OIDCConfig{
			"accessTokenLifetime":        {AccessTokenLifetime: lifetime},
			"refreshTokenIdleExpiration": {RefreshTokenIdleExpiration: lifetime},
			"refreshTokenExpiration":     {RefreshTokenExpiration: lifetime},
		} {
			judge(t, c.WithDefaults(), path, lifetime.String(), reason)
		}
	}
}

func TestAdditionalOriginsAreAsBrowsersSendThem(t *testing.T) {
	t.Parallel()
	const sent = "as browsers send it"
	for _, c := range []struct {
		origin, reason string
		config         domain.OIDCConfig
	}{
		{"https://app.example.com", "", domain.OIDCConfig{}},
		{"https://app.example.com:8443", "", domain.OIDCConfig{}},
		{"https://[2001:db8::1]", "", domain.OIDCConfig{}},
		{"http://localhost:3000", "", domain.OIDCConfig{}},
		{"http://app.internal", "", domain.OIDCConfig{DevMode: true}},
		{"http://app.internal", "begin with https", domain.OIDCConfig{}},
		{"https://app.example.com/", sent, domain.OIDCConfig{}},
		{"https://app.example.com/path", sent, domain.OIDCConfig{}},
		{"https://app.example.com?", sent, domain.OIDCConfig{}},
		{"https://app.example.com?x", sent, domain.OIDCConfig{}},
		{"https://app.example.com:443", sent, domain.OIDCConfig{}},
		{"http://localhost:80", sent, domain.OIDCConfig{}},
		{"https://App.example.com", sent, domain.OIDCConfig{}},
		{"HTTPS://app.example.com", sent, domain.OIDCConfig{}},
		{"https://app.example.com#", "fragment", domain.OIDCConfig{}},
		{"https://a@app.example.com", "user", domain.OIDCConfig{}},
		{"https://*.example.com", "wildcard", domain.OIDCConfig{}},
		{"*", "wildcard", domain.OIDCConfig{}},
		{"null", "scheme", domain.OIDCConfig{}},
		{"app.example.com", "scheme", domain.OIDCConfig{}},
		{"https://", "name a host", domain.OIDCConfig{}},
		{"capacitor://localhost", "", domain.OIDCConfig{AppType: domain.AppNative}},
		{"capacitor://localhost", "https origin", domain.OIDCConfig{AppType: domain.AppUserAgent}},
		{"capacitor://localhost/", sent, domain.OIDCConfig{AppType: domain.AppNative}},
		{"capacitor://", sent, domain.OIDCConfig{AppType: domain.AppNative}},
		{"capacitor:localhost", sent, domain.OIDCConfig{AppType: domain.AppNative}},
		{"javascript:alert(1)", sent, domain.OIDCConfig{AppType: domain.AppNative}},
	} {
		config := c.config.WithDefaults()
		config.AdditionalOrigins = []string{c.origin}
		judge(t, config, "additionalOrigins[0]", c.origin, c.reason)
	}
}

// judge fails the test unless a configuration is refused for that reason, or is accepted if the reason is "".
func judge(t *testing.T, c domain.OIDCConfig, path, value, reason string) {
	t.Helper()
	t.Run(path+" "+value, func(t *testing.T) {
		t.Helper()
		err := c.Check()
		if reason == "" {
			if err != nil {
				t.Error(err)
			}
			return
		}
		f := fault.From(err)
		if len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Reason, reason) {
			t.Fatalf("%+v, want %q", f, reason)
		}
		want := projectsfault.ErrOIDCConfigInvalid.Naming(fault.Field{Path: path, Reason: f.Fields[0].Reason})
		if !reflect.DeepEqual(f, want) {
			t.Errorf("%+v, want %+v", f, want)
		}
	})
}

func FuzzRedirectURI(f *testing.F) {
	for _, uri := range []string{"https://app.example.com/cb?x=%20", "http://[::1]:3000/", "com.example.app:/cb",
		`https://a\@b/`, "javascript:alert(1)", "https://a:1@b:2/#"} {
		f.Add(uri, uint8(1), false)
		f.Add(uri, uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, uri string, kind uint8, dev bool) {
		config := domain.OIDCConfig{AppType: domain.AppType(kind%3 + 1), DevMode: dev,
			RedirectURIs: []string{uri}}.WithDefaults()
		if config.Check() != nil {
			return
		}
		u, err := url.Parse(uri)
		if err != nil || !u.IsAbs() || u.User != nil || strings.ContainsAny(uri, "#*\\ \r\n\x00\"<>") ||
			u.String() == "" {
			t.Fatalf("%q was accepted", uri)
		}
		switch u.Scheme {
		case "https", "http":
			if u.Hostname() == "" || u.Scheme == "http" && !dev &&
				!slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, strings.ToLower(u.Hostname())) {
				t.Errorf("%q was accepted", uri)
			}
		default:
			if config.AppType != domain.AppNative || !strings.Contains(u.Scheme, ".") {
				t.Errorf("%q was accepted", uri)
			}
		}
	})
}

func FuzzRolesClaim(f *testing.F) {
	for _, name := range []string{"groups", "https://shop.example/roles", "sub", "urn:service:x", "a\n", "1", "a\"b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || (domain.OIDCConfig{RolesClaim: name}).WithDefaults().Check() != nil {
			return
		}
		quoted, err := json.Marshal(name)
		if err != nil || string(quoted) != `"`+name+`"` || strings.ContainsAny(name, " <>&'") {
			t.Errorf("%q was accepted, and is %s", name, quoted)
		}
		if slices.Contains([]string{"sub", "aud", "iss", "scope"}, name) || strings.HasPrefix(name, "urn:service:") {
			t.Errorf("%q was accepted", name)
		}
	})
}

func FuzzOrigin(f *testing.F) {
	for _, origin := range []string{"https://app.example.com", "http://[::1]:3000", "capacitor://localhost",
		"https://a:443", "null", "https://a/", "HTTPS://a"} {
		f.Add(origin, uint8(1), false)
		f.Add(origin, uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, origin string, kind uint8, dev bool) {
		config := domain.OIDCConfig{AppType: domain.AppType(kind%3 + 1), DevMode: dev,
			AdditionalOrigins: []string{origin}}.WithDefaults()
		if config.Check() != nil {
			return
		}
		scheme, host, ok := strings.Cut(origin, "://")
		if !ok || host == "" || origin != strings.ToLower(origin) || strings.ContainsAny(host, "/?#@*\\ \r\n\x00") {
			t.Errorf("%q was accepted", origin)
		}
		if config.AppType != domain.AppNative && scheme != "https" && scheme != "http" {
			t.Errorf("%q was accepted", origin)
		}
	})
}

func TestConfigurationHasDefaultsForMissingFields(t *testing.T) {
	t.Parallel()
	got := domain.OIDCConfig{}.WithDefaults()
	want := domain.OIDCConfig{
		ResponseTypes: []domain.ResponseType{domain.ResponseCode},
		GrantTypes:    []domain.GrantType{domain.GrantAuthorizationCode},
		AppType:       domain.AppWeb, AuthMethod: domain.AuthBasic, AccessTokenType: domain.TokenBearer,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	chosen := domain.OIDCConfig{
		RedirectURIs:  []string{"https://b.example", "https://a.example"},
		ResponseTypes: []domain.ResponseType{domain.ResponseCode},
		GrantTypes:    []domain.GrantType{domain.GrantAuthorizationCode, domain.GrantDeviceCode},
		AppType:       domain.AppNative, AuthMethod: domain.AuthNone,
		AccessTokenType: domain.TokenJWT, ClockSkew: time.Second, DevMode: true,
	}
	if got := chosen.WithDefaults(); !reflect.DeepEqual(got, chosen) {
		t.Errorf("%+v", got)
	}
	mixed := []domain.GrantType{domain.GrantDeviceCode, domain.GrantAuthorizationCode}
	if got := (domain.OIDCConfig{GrantTypes: mixed}).WithDefaults(); !slices.IsSorted(got.GrantTypes) ||
		mixed[0] != domain.GrantDeviceCode {
		t.Errorf("%v of %v", got.GrantTypes, mixed)
	}
	if got := (domain.APIConfig{}).WithDefaults(); got.AuthMethod != domain.APIBasic {
		t.Errorf("%v", got)
	}
	if got := (domain.APIConfig{AuthMethod: domain.APIPrivateKeyJWT}).WithDefaults(); got.AuthMethod !=
		domain.APIPrivateKeyJWT {
		t.Errorf("%v", got)
	}
}

func TestRefreshTokenNeedsAnotherGrantType(t *testing.T) {
	t.Parallel()
	const code, refresh, device = domain.GrantAuthorizationCode, domain.GrantRefreshToken, domain.GrantDeviceCode
	for _, c := range []struct {
		types []domain.GrantType
		ok    bool
	}{
		{nil, true}, {[]domain.GrantType{code}, true}, {[]domain.GrantType{device}, true},
		{[]domain.GrantType{refresh, code}, true},
		{[]domain.GrantType{device, refresh}, true}, {[]domain.GrantType{code, refresh, device}, true},
		{[]domain.GrantType{refresh}, false},
	} {
		reason := "refresh token"
		if c.ok {
			reason = ""
		}
		judge(t, domain.OIDCConfig{GrantTypes: c.types}.WithDefaults(), "grantTypes", fmt.Sprint(c.types), reason)
	}
}

func TestAllMistakesOfAConfigurationAreReturnedAtOnce(t *testing.T) {
	t.Parallel()
	err := domain.OIDCConfig{
		GrantTypes: []domain.GrantType{domain.GrantRefreshToken}, RedirectURIs: []string{"https://a.example", "x"},
		PostLogoutRedirectURIs: []string{"y"},
		BackChannelLogoutURI:   "z", AdditionalOrigins: []string{"null"}, RolesClaim: "sub", AccessTokenLifetime: 1,
		RefreshTokenIdleExpiration: 1, RefreshTokenExpiration: 1,
	}.WithDefaults().Check()
	var paths []string
	for _, f := range fault.From(err).Fields {
		paths = append(paths, f.Path)
	}
	if !slices.Equal(paths, []string{
		"grantTypes", "redirectUris[1]", "postLogoutRedirectUris[0]", "backChannelLogoutUri", "additionalOrigins[0]",
		"rolesClaim", "accessTokenLifetime", "refreshTokenIdleExpiration", "refreshTokenExpiration",
	}) {
		t.Error(err)
	}
	if len(projectsfault.ErrOIDCConfigInvalid.Fields) != 0 {
		t.Error("the declared fault has fields now")
	}
}

func TestProblemsOfAConfigurationAreShown(t *testing.T) {
	t.Parallel()
	uris := []string{"https://a.example/", "http://localhost/", "com.example:/"}
	for _, c := range []struct {
		config domain.OIDCConfig
		hash   []byte
		want   []string
	}{
		{domain.OIDCConfig{RedirectURIs: uris}, []byte("x"), nil},
		{domain.OIDCConfig{RedirectURIs: uris, AuthMethod: domain.AuthPrivateKeyJWT}, nil, nil},
		{domain.OIDCConfig{RedirectURIs: uris, AppType: domain.AppNative, AuthMethod: domain.AuthNone}, nil, nil},
		{domain.OIDCConfig{RedirectURIs: uris, AppType: domain.AppUserAgent, AuthMethod: domain.AuthNone}, nil, nil},
		{domain.OIDCConfig{GrantTypes: []domain.GrantType{domain.GrantDeviceCode}}, []byte("x"), nil},
		{domain.OIDCConfig{}, []byte("x"), []string{"NO_REDIRECT_URI"}},
		{domain.OIDCConfig{RedirectURIs: uris, AuthMethod: domain.AuthNone}, nil,
			[]string{"WEB_WITHOUT_AUTHENTICATION"}},
		{domain.OIDCConfig{RedirectURIs: uris, AppType: domain.AppNative}, []byte("x"),
			[]string{"PUBLIC_WITH_CREDENTIAL"}},
		{domain.OIDCConfig{RedirectURIs: uris, AppType: domain.AppUserAgent, AuthMethod: domain.AuthPost}, []byte("x"),
			[]string{"PUBLIC_WITH_CREDENTIAL"}},
		{domain.OIDCConfig{RedirectURIs: uris, AppType: domain.AppNative, AuthMethod: domain.AuthPrivateKeyJWT}, nil,
			[]string{"PUBLIC_WITH_CREDENTIAL"}},
		{domain.OIDCConfig{RedirectURIs: []string{"http://a.example/"}, DevMode: true}, []byte("x"),
			[]string{"HTTP_BEYOND_LOOPBACK"}},
		{domain.OIDCConfig{RedirectURIs: uris, PostLogoutRedirectURIs: []string{"http://a.example/"}, DevMode: true},
			[]byte("x"), []string{"HTTP_BEYOND_LOOPBACK"}},
		{domain.OIDCConfig{RedirectURIs: uris, BackChannelLogoutURI: "http://a.example/", DevMode: true}, []byte("x"),
			[]string{"HTTP_BEYOND_LOOPBACK"}},
		{domain.OIDCConfig{RedirectURIs: uris, AdditionalOrigins: []string{"http://a.example"}, DevMode: true},
			[]byte("x"), []string{"HTTP_BEYOND_LOOPBACK"}},
		{domain.OIDCConfig{RedirectURIs: uris}, nil, []string{"NO_CLIENT_SECRET"}},
		{domain.OIDCConfig{AppType: domain.AppNative}, nil, []string{
			"PUBLIC_WITH_CREDENTIAL", "NO_REDIRECT_URI", "NO_CLIENT_SECRET",
		}},
	} {
		c.config = c.config.WithDefaults()
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			app := domain.Application{OIDC: &c.config, ClientSecret: domain.ClientSecret{SecretHash: c.hash}}
			if got := app.ComplianceProblems(); !slices.Equal(got, c.want) {
				t.Errorf("%v", got)
			}
		})
	}
}

// A changed field of a configuration is found under its name in the contract.
func TestConfigurationNamesEachChangedField(t *testing.T) {
	t.Parallel()
	other := domain.OIDCConfig{
		RedirectURIs: []string{"https://a.example"}, ResponseTypes: []domain.ResponseType{9},
		GrantTypes: []domain.GrantType{domain.GrantDeviceCode},
		AppType:    domain.AppNative, AuthMethod: domain.AuthPost,
		PostLogoutRedirectURIs: []string{"https://a.example"}, BackChannelLogoutURI: "https://a.example",
		DevMode: true, AccessTokenType: domain.TokenJWT, AccessTokenRoleAssertion: true, IDTokenRoleAssertion: true,
		IDTokenUserinfoAssertion: true, Trusted: true,
		ClockSkew: time.Second, AdditionalOrigins: []string{"https://a.example"}, RolesClaim: "roles",
		AccessTokenLifetime: time.Minute, RefreshTokenIdleExpiration: time.Minute, RefreshTokenExpiration: time.Minute,
	}
	kind := reflect.TypeFor[domain.OIDCConfig]()
	for i := range kind.NumField() {
		name := kind.Field(i).Tag.Get("json")
		t.Run(name, func(t *testing.T) {
			config := domain.OIDCConfig{}.WithDefaults()
			app := domain.Application{OIDC: &config}
			next := config
			reflect.ValueOf(&next).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
			changed, err := app.ConfigureOIDC(next)
			if err != nil || !slices.Equal(changed, []string{name}) || !reflect.DeepEqual(*app.OIDC, next) {
				t.Errorf("%v, %v, %+v", changed, err, app.OIDC)
			}
			if changed, err = app.ConfigureOIDC(next); changed != nil || err != nil {
				t.Errorf("again: %v, %v", changed, err)
			}
		})
	}
}

func TestNewSecretReplacesTheOldOneAfterTheOverlap(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	config := domain.OIDCConfig{}.WithDefaults()
	app := domain.Application{OIDC: &config, State: domain.AppInactive}
	expect := func(label string, want domain.ClientSecret) {
		t.Helper()
		if !reflect.DeepEqual(app.ClientSecret, want) {
			t.Errorf("%s: %+v, want %+v", label, app.ClientSecret, want)
		}
	}
	after := func(current, former string, overlap time.Duration) domain.ClientSecret {
		return domain.ClientSecret{SecretHash: []byte(current), FormerSecretHash: []byte(former),
			FormerSecretUntil: new(now.Add(overlap))}
	}
	onlyA, onlyD := domain.ClientSecret{SecretHash: []byte("a")}, domain.ClientSecret{SecretHash: []byte("d")}
	renew := func(hash string, overlap time.Duration) {
		t.Helper()
		if err := app.RenewOIDCSecret([]byte(hash), overlap, now); err != nil {
			t.Error(err)
		}
	}
	renew("a", time.Hour)
	expect("the first has none before it", onlyA)
	renew("b", time.Hour)
	expect("with overlap", after("b", "a", time.Hour))
	renew("c", time.Minute)
	expect("a third makes the first stop", after("c", "b", time.Minute))
	renew("d", 0)
	expect("without overlap", onlyD)

	for _, method := range []domain.AuthMethod{domain.AuthPost, domain.AuthBasic} {
		next := *app.OIDC
		next.AuthMethod = method
		if _, err := app.ConfigureOIDC(next); err != nil {
			t.Error(err)
		}
		expect("between methods that use it", onlyD)
	}
	for _, method := range []domain.AuthMethod{domain.AuthNone, domain.AuthPrivateKeyJWT} {
		renew("e", 0)
		renew("f", time.Hour)
		next, back := *app.OIDC, *app.OIDC
		next.AuthMethod = method
		if _, err := app.ConfigureOIDC(next); err != nil {
			t.Error(err)
		}
		expect("a method without", domain.ClientSecret{})
		if err := app.RenewOIDCSecret([]byte("g"), 0, now); !errors.Is(err, projectsfault.ErrAppUsesNoSecret) {
			t.Error(err)
		}
		expect("refused", domain.ClientSecret{})
		if _, err := app.ConfigureOIDC(back); err != nil {
			t.Error(err)
		}
		expect("back again", domain.ClientSecret{})
	}
	if err := app.RenewAPISecret([]byte("h"), 0, now); !errors.Is(err, projectsfault.ErrAppNotAPI) {
		t.Error(err)
	}
	if _, err := app.ConfigureAPI(domain.APIConfig{}); !errors.Is(err, projectsfault.ErrAppNotAPI) {
		t.Error(err)
	}
}

func TestAPIApplicationIsConfiguredAsSuch(t *testing.T) {
	t.Parallel()
	app := domain.Application{API: &domain.APIConfig{AuthMethod: domain.APIBasic}}
	if err := app.RenewAPISecret([]byte("a"), 0, time.Time{}); err != nil || !bytes.Equal(app.SecretHash, []byte("a")) {
		t.Errorf("%+v, %v", app, err)
	}
	if err := app.RenewOIDCSecret([]byte("b"), 0, time.Time{}); !errors.Is(err, projectsfault.ErrAppNotOIDC) {
		t.Error(err)
	}
	if _, err := app.ConfigureOIDC(domain.OIDCConfig{}.WithDefaults()); !errors.Is(err, projectsfault.ErrAppNotOIDC) {
		t.Error(err)
	}
	if changed, err := app.ConfigureAPI(domain.APIConfig{AuthMethod: domain.APIBasic}); changed != nil || err != nil ||
		app.SecretHash == nil {
		t.Errorf("%v, %v", changed, err)
	}
	if changed, err := app.ConfigureAPI(domain.APIConfig{AuthMethod: domain.APIPrivateKeyJWT}); !slices.Equal(
		changed, []string{"authMethodType"}) || err != nil || app.SecretHash != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if err := app.RenewAPISecret([]byte("c"), 0, time.Time{}); !errors.Is(err, projectsfault.ErrAppUsesNoSecret) {
		t.Error(err)
	}
}

func TestEachStateOfAnApplicationAllowsOneChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from       domain.AppState
		transition func(*domain.Application) error
		to         domain.AppState
		raised     int64
		err        error
	}{
		{domain.AppActive, (*domain.Application).Deactivate, domain.AppInactive, 1, nil},
		{domain.AppInactive, (*domain.Application).Deactivate, domain.AppInactive, 0, projectsfault.ErrAppNotActive},
		{domain.AppActive, (*domain.Application).Reactivate, domain.AppActive, 0, projectsfault.ErrAppNotInactive},
		{domain.AppInactive, (*domain.Application).Reactivate, domain.AppActive, 0, nil},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			app := domain.Application{State: c.from, Generation: 5}
			if err := c.transition(&app); !errors.Is(err, c.err) || app.State != c.to || app.Generation != 5+c.raised {
				t.Errorf("%+v, %v", app, err)
			}
		})
	}
}

func TestApplicationIsRenamedOnce(t *testing.T) {
	t.Parallel()
	a := domain.Application{Name: "Web"}
	if a.Rename("Web") || !a.Rename("web") || a.Name != "web" {
		t.Errorf("%+v", a)
	}
}

func TestSecretIsOfMethodsThatUseOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		app  domain.Application
		want bool
	}{
		"Basic":          {domain.Application{OIDC: &domain.OIDCConfig{AuthMethod: domain.AuthBasic}}, true},
		"Post":           {domain.Application{OIDC: &domain.OIDCConfig{AuthMethod: domain.AuthPost}}, true},
		"none":           {domain.Application{OIDC: &domain.OIDCConfig{AuthMethod: domain.AuthNone}}, false},
		"key":            {domain.Application{OIDC: &domain.OIDCConfig{AuthMethod: domain.AuthPrivateKeyJWT}}, false},
		"API with Basic": {domain.Application{API: &domain.APIConfig{AuthMethod: domain.APIBasic}}, true},
		"API with a key": {domain.Application{API: &domain.APIConfig{AuthMethod: domain.APIPrivateKeyJWT}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.app.UsesSecret() != c.want {
				t.Errorf("not %v", c.want)
			}
		})
	}
}
