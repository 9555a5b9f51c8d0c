package apps_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/projects/internal/testworld"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

var refused, race, once = testkit.Refused, testkit.Race, testkit.Once

// shop is a world with a project.
type shop struct {
	*testworld.World
	id string
}

func newShop(t testing.TB) shop {
	t.Helper()
	w := testworld.New(t)
	return shop{w, w.Project(w.InA, "Shop")}
}

// takes reports whether an application accepts a secret at a time.
func takes(w *testworld.World, appID, clientSecret, now string) bool {
	w.Helper()
	return w.Rows(`applications where id = $1 and (secret_hash = $2 or former_secret_hash = $2 and
		former_secret_until > $3::timestamptz)`, appID, secret.Hash(clientSecret), now) == 1
}

// A name is stored, compared and searched in NFC.
func TestNamesOfAppsAreInNFC(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	const composed, decomposed = "Caf\u00e9", "Cafe\u0301"
	app := w.WebApp(w.InA, w.id, decomposed)
	if got := w.App(w.id, app.AppId).Name; got != composed {
		t.Errorf("%+q", got)
	}
	for _, name := range []string{composed, decomposed} {
		_, err := w.CreateApiApp(w.InA, &projectsv1.CreateApiAppRequest{ProjectId: w.id, Name: name})
		refused(t, err, "APP_NAME_TAKEN")
		found, err := w.SearchApps(w.InA, &projectsv1.SearchAppsRequest{
			ProjectId: w.id, Queries: []*projectsv1.AppFilter{{NameQuery: &projectsv1.AppNameQuery{Name: name}}},
		})
		if err != nil || len(found.Result) != 1 {
			t.Errorf("%+q: %v, %v", name, found, err)
		}
	}
	before := w.Rows("events")
	w.Must(w.UpdateApp(w.InA, &projectsv1.UpdateAppRequest{ProjectId: w.id, AppId: app.AppId, Name: decomposed}))
	if w.Rows("events") != before {
		t.Error("the same name is a change")
	}
}

func TestOIDCAppHasDefaultsForWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	before := w.Rows("events")
	made := w.WebApp(w.InA, w.id, " Web ")
	if !testworld.SecretForm.MatchString(made.ClientSecret) || made.ClientId != made.AppId ||
		made.Details.ResourceOwner != "org-a" || made.Details.CreationDate == nil {
		t.Errorf("%v", made)
	}
	want := &projectsv1.App{
		Id: made.AppId, Details: made.Details, State: projectsv1.AppState_APP_STATE_ACTIVE, Name: "Web",
		Config: &projectsv1.App_OidcConfig{OidcConfig: &projectsv1.OidcConfig{
			RedirectUris: []string{"https://app.example.com/callback"}, ResponseTypes: []projectsv1.OidcResponseType{1},
			GrantTypes:      []projectsv1.OidcGrantType{1},
			AppType:         projectsv1.OidcAppType_OIDC_APP_TYPE_WEB,
			AuthMethodType:  projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_BASIC,
			AccessTokenType: heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_BEARER, ClockSkew: &durationpb.Duration{},
			ClientId: made.AppId, IdTokenUserinfoAssertion: true, AccessTokenLifetime: &durationpb.Duration{},
			RefreshTokenIdleExpiration: &durationpb.Duration{}, RefreshTokenExpiration: &durationpb.Duration{},
		}},
	}
	testkit.Equal(t, w.App(w.id, made.AppId), want)
	w.Event(made.AppId, &projectsv1.ApplicationCreated{ProjectId: w.id})
	if w.Rows("events") != before+1 {
		t.Error("the creation is not one event")
	}
	w.Must(w.UpdateOidcConfig(w.InA, native(w.id, made.AppId)))
	// Fields that a replacement omits get the defaults of a creation.
	w.Must(w.UpdateOidcConfig(w.InA, &projectsv1.UpdateOidcConfigRequest{ProjectId: w.id, AppId: made.AppId,
		RedirectUris: []string{"https://app.example.com/callback"}}))
	want.GetOidcConfig().ComplianceProblems = []string{"NO_CLIENT_SECRET"} // the other method removed it
	testkit.Equal(t, w.App(w.id, made.AppId).GetOidcConfig(), want.GetOidcConfig())
}

// native returns a configuration in which every field has another value than the default.
func native(projectID, appID string) *projectsv1.UpdateOidcConfigRequest {
	return &projectsv1.UpdateOidcConfigRequest{
		ProjectId: projectID, AppId: appID, RedirectUris: []string{"com.example.app:/cb", "http://127.0.0.1/cb"},
		ResponseTypes: []projectsv1.OidcResponseType{1},
		GrantTypes:    []projectsv1.OidcGrantType{3, 1, 2}, AppType: projectsv1.OidcAppType_OIDC_APP_TYPE_NATIVE,
		AuthMethodType:         projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_NONE,
		PostLogoutRedirectUris: []string{"com.example.app:/bye"}, BackChannelLogoutUri: "http://app.internal/logout",
		DevMode:         true,
		AccessTokenType: heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_JWT, AccessTokenRoleAssertion: true,
		IdTokenRoleAssertion: true, IdTokenUserinfoAssertion: new(false),
		ClockSkew: durationpb.New(1500 * time.Millisecond), AdditionalOrigins: []string{"https://other.example.com"},
		RolesClaim: "https://shop.example/roles", AccessTokenLifetime: durationpb.New(time.Minute),
		RefreshTokenIdleExpiration: durationpb.New(24 * time.Hour),
		RefreshTokenExpiration:     durationpb.New(365 * 24 * time.Hour),
	}
}

func TestOIDCConfigIsReplacedWhole(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	made := w.WebApp(w.InA, w.id, "Web")
	update := native(w.id, made.AppId)
	changed, err := w.UpdateOidcConfig(w.InA, update)
	if err != nil || changed.Details.Sequence <= made.Details.Sequence || changed.Details.CreationDate != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	changed.Details.CreationDate = made.Details.CreationDate
	testkit.Equal(t, w.App(w.id, made.AppId), &projectsv1.App{
		Id: made.AppId, Details: changed.Details, State: projectsv1.AppState_APP_STATE_ACTIVE, Name: "Web",
		Config: &projectsv1.App_OidcConfig{OidcConfig: &projectsv1.OidcConfig{
			RedirectUris: update.RedirectUris, ResponseTypes: update.ResponseTypes,
			GrantTypes: []projectsv1.OidcGrantType{1, 2, 3}, AppType: update.AppType,
			AuthMethodType: update.AuthMethodType, PostLogoutRedirectUris: update.PostLogoutRedirectUris,
			BackChannelLogoutUri: update.BackChannelLogoutUri, DevMode: true, AccessTokenType: update.AccessTokenType,
			AccessTokenRoleAssertion: true, IdTokenRoleAssertion: true, ClockSkew: update.ClockSkew,
			AdditionalOrigins: update.AdditionalOrigins, RolesClaim: update.RolesClaim,
			AccessTokenLifetime:        update.AccessTokenLifetime,
			RefreshTokenIdleExpiration: update.RefreshTokenIdleExpiration,
			RefreshTokenExpiration:     update.RefreshTokenExpiration,
			ClientId:                   made.AppId, ComplianceProblems: []string{"HTTP_BEYOND_LOOPBACK"},
		}},
	})
	update.GrantTypes = []projectsv1.OidcGrantType{2, 3, 1}
	again, err := w.UpdateOidcConfig(w.InA, update)
	w.Must(again, err)
	changed.Details.CreationDate = nil
	testkit.Equal(t, again, changed)
	if n := w.Rows(`events where data->'changed' @> '["redirectUris","grantTypes","authMethodType"]'
		and not data->'changed' ? 'responseTypes' and data->>'projectId' = $1`, w.id); n != 1 {
		t.Errorf("%d events of the change", n)
	}
}

const privateKey = projectsv1.ApiAuthMethodType_API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT

// apiApp creates an API application.
func (w shop) apiApp(name string, method projectsv1.ApiAuthMethodType) *projectsv1.CreateApiAppResponse {
	w.Helper()
	r, err := w.CreateApiApp(w.InA, &projectsv1.CreateApiAppRequest{
		ProjectId: w.id, Name: name, AuthMethodType: method,
	})
	w.Must(r, err)
	return r
}

func TestAPIAppHasASecretForBasicOnly(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	basic := w.apiApp("Basic", 0)
	if !testworld.SecretForm.MatchString(basic.ClientSecret) || basic.ClientId != basic.AppId {
		t.Errorf("%v", basic)
	}
	key := w.apiApp("Key", privateKey)
	if key.ClientSecret != "" {
		t.Errorf("%v", key)
	}
	testkit.Equal(t, w.App(w.id, key.AppId), &projectsv1.App{
		Id: key.AppId, Details: key.Details, State: projectsv1.AppState_APP_STATE_ACTIVE, Name: "Key",
		Config: &projectsv1.App_ApiConfig{ApiConfig: &projectsv1.ApiConfig{
			ClientId: key.AppId, AuthMethodType: privateKey,
		}},
	})
	this := &projectsv1.GenerateClientSecretRequest{ProjectId: w.id, AppId: key.AppId}
	_, err := w.GenerateApiClientSecret(w.InA, this)
	refused(t, err, "APP_USES_NO_SECRET")
	update := &projectsv1.UpdateApiConfigRequest{ProjectId: w.id, AppId: key.AppId}
	changed, err := w.UpdateApiConfig(w.InA, update)
	if err != nil || changed.Details.Sequence <= key.Details.Sequence {
		t.Fatalf("%v, %v", changed, err)
	}
	again, err := w.UpdateApiConfig(w.InA, update)
	w.Must(again, err)
	testkit.Equal(t, again, changed)
	renewed, err := w.GenerateApiClientSecret(w.InA, this)
	w.Must(renewed, err)
	if !testworld.SecretForm.MatchString(renewed.ClientSecret) ||
		!takes(w.World, key.AppId, renewed.ClientSecret, "now") {
		t.Errorf("%v", renewed)
	}
}

func TestAppOfOneKindIsNotChangedAsTheOther(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	web, basic := w.WebApp(w.InA, w.id, "Web"), w.apiApp("Basic", 0)
	before := w.Rows("events")
	for name, c := range map[string]struct {
		call  func() error
		fault string
	}{
		"configured as OIDC": {func() error {
			_, err := w.UpdateOidcConfig(w.InA,
				&projectsv1.UpdateOidcConfigRequest{ProjectId: w.id, AppId: basic.AppId})
			return err
		}, "APP_NOT_OIDC"},
		"secret as OIDC": {func() error {
			_, err := w.GenerateOidcClientSecret(w.InA,
				&projectsv1.GenerateClientSecretRequest{ProjectId: w.id, AppId: basic.AppId})
			return err
		}, "APP_NOT_OIDC"},
		"configured as API": {func() error {
			_, err := w.UpdateApiConfig(w.InA,
				&projectsv1.UpdateApiConfigRequest{ProjectId: w.id, AppId: web.AppId, AuthMethodType: privateKey})
			return err
		}, "APP_NOT_API"},
		"secret as API": {func() error {
			_, err := w.GenerateApiClientSecret(w.InA,
				&projectsv1.GenerateClientSecretRequest{ProjectId: w.id, AppId: web.AppId})
			return err
		}, "APP_NOT_API"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.call()
			refused(t, err, c.fault)
			if fault.From(err).Code != fault.Precondition {
				t.Error(err)
			}
		})
	}
	if w.Rows("events") != before || !takes(w.World, web.AppId, web.ClientSecret, "now") ||
		!takes(w.World, basic.AppId, basic.ClientSecret, "now") {
		t.Error("a refusal left something behind")
	}
}

// naming returns the methods that take a name, each with its call for an application.
func (w shop) naming(appID string) map[string]func(name string) error {
	return map[string]func(name string) error{
		"creates OIDC": func(name string) error {
			_, err := w.CreateOidcApp(w.InA, &projectsv1.CreateOidcAppRequest{ProjectId: w.id, Name: name})
			return err
		},
		"creates API": func(name string) error {
			_, err := w.CreateApiApp(w.InA, &projectsv1.CreateApiAppRequest{ProjectId: w.id, Name: name})
			return err
		},
		"renames": func(name string) error {
			_, err := w.UpdateApp(w.InA, &projectsv1.UpdateAppRequest{ProjectId: w.id, AppId: appID, Name: name})
			return err
		},
	}
}

func TestAppNameIsOneOfItsProjectOnly(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	web := w.WebApp(w.InA, w.id, "web")
	w.WebApp(w.InA, w.id, "Web")
	w.WebApp(w.InA, w.Project(w.InA, "Other"), "Web")
	before := w.Rows("events")
	for label, call := range w.naming(web.AppId) {
		t.Run(label, func(t *testing.T) {
			err := call(" Web ")
			refused(t, err, "APP_NAME_TAKEN")
			if f := fault.From(err); f.Code != fault.Exists || len(f.Fields) != 1 || f.Fields[0].Path != "name" {
				t.Errorf("%+v", f)
			}
			for _, name := range []string{"", " ", "a\nb", strings.Repeat("ü", 201)} {
				refused(t, call(name), "INVALID_ARGUMENT", "name")
			}
		})
	}
	kept, err := w.UpdateApp(w.InA, &projectsv1.UpdateAppRequest{ProjectId: w.id, AppId: web.AppId, Name: "web"})
	if err != nil || kept.Details.Sequence != web.Details.Sequence || w.Rows("events") != before {
		t.Errorf("%v, %v", kept, err)
	}
	longest := strings.Repeat("ü", 200)
	renamed, err := w.UpdateApp(w.InA, &projectsv1.UpdateAppRequest{ProjectId: w.id, AppId: web.AppId, Name: longest})
	if got := w.App(w.id, web.AppId); err != nil || got.Name != longest ||
		got.Details.Sequence != renamed.Details.Sequence ||
		w.Rows(`events where data->'changed' = '["name"]' and aggregate_id = $1`, web.AppId) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// Creations and changes with a wrong configuration are refused, and nothing is written. The tests of the domain say
// which addresses are right.
func TestWrongConfigIsRefused(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	web := w.WebApp(w.InA, w.id, "Web")
	before := w.Rows("events")
	for label, c := range map[string]struct {
		config   *projectsv1.UpdateOidcConfigRequest
		id, path string
	}{
		"NUL": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: []string{"https://a.example/",
			"https://a.example/\x00"}}, "OIDC_CONFIG_INVALID", "redirectUris[1]"},
		"unknown grant": {&projectsv1.UpdateOidcConfigRequest{GrantTypes: []projectsv1.OidcGrantType{9}},
			"INVALID_ARGUMENT", "grantTypes[0]"},
		"no grant": {&projectsv1.UpdateOidcConfigRequest{GrantTypes: []projectsv1.OidcGrantType{0}},
			"INVALID_ARGUMENT", "grantTypes[0]"},
		"twice": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: []string{"https://a.example/",
			"https://a.example/"}}, "INVALID_ARGUMENT", "redirectUris"},
		"empty": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: []string{""}}, "INVALID_ARGUMENT",
			"redirectUris[0]"},
		"long": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: []string{"https://a.example/" +
			strings.Repeat("a", 2000)}}, "INVALID_ARGUMENT", "redirectUris[0]"},
		"many": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: manyURIs(101)}, "INVALID_ARGUMENT",
			"redirectUris"},
		"clock skew": {&projectsv1.UpdateOidcConfigRequest{ClockSkew: durationpb.New(5*time.Second + 1)},
			"INVALID_ARGUMENT", "clockSkew"},
		"clock skew back": {&projectsv1.UpdateOidcConfigRequest{ClockSkew: durationpb.New(-1)}, "INVALID_ARGUMENT",
			"clockSkew"},
		"app type":    {&projectsv1.UpdateOidcConfigRequest{AppType: 7}, "INVALID_ARGUMENT", "appType"},
		"auth method": {&projectsv1.UpdateOidcConfigRequest{AuthMethodType: 7}, "INVALID_ARGUMENT", "authMethodType"},
		"token type":  {&projectsv1.UpdateOidcConfigRequest{AccessTokenType: 7}, "INVALID_ARGUMENT", "accessTokenType"},
	} {
		t.Run(label, func(t *testing.T) {
			c.config.ProjectId, c.config.AppId = w.id, web.AppId
			_, changeErr := w.UpdateOidcConfig(w.InA, c.config)
			_, createErr := w.CreateOidcApp(w.InA, &projectsv1.CreateOidcAppRequest{
				ProjectId: w.id, Name: label, RedirectUris: c.config.RedirectUris, GrantTypes: c.config.GrantTypes,
				AppType: c.config.AppType, AuthMethodType: c.config.AuthMethodType,
				AccessTokenType: c.config.AccessTokenType, ClockSkew: c.config.ClockSkew,
			})
			for _, err := range []error{changeErr, createErr} {
				refused(t, err, c.id, c.path)
				if f := fault.From(err); f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Path != c.path {
					t.Errorf("%+v", f)
				}
			}
		})
	}
	_, err := w.CreateApiApp(w.InA, &projectsv1.CreateApiAppRequest{ProjectId: w.id, Name: "API", AuthMethodType: 7})
	refused(t, err, "INVALID_ARGUMENT", "authMethodType")
	if w.Rows("events") != before || w.Rows("applications") != 1 {
		t.Error("something was written")
	}
}

func TestLargestConfigIsKept(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	full, err := w.CreateOidcApp(w.InA, &projectsv1.CreateOidcAppRequest{
		ProjectId: w.id, Name: "Full", RedirectUris: manyURIs(100), ClockSkew: durationpb.New(5 * time.Second),
	})
	w.Must(full, err)
	if c := w.App(w.id, full.AppId).GetOidcConfig(); !slices.Equal(c.RedirectUris, manyURIs(100)) ||
		c.ClockSkew.AsDuration() != 5*time.Second {
		t.Errorf("%v", c)
	}
}

func manyURIs(n int) []string {
	uris := make([]string, n)
	for i := range uris {
		uris[i] = fmt.Sprintf("https://app-%d.example.com/callback", i)
	}
	return uris
}

func TestAppIsDeactivatedAndReactivatedOnce(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	app := &projectsv1.AppRequest{ProjectId: w.id, AppId: w.WebApp(w.InA, w.id, "Web").AppId}
	before := w.Rows("events")
	_, err := w.ReactivateApp(w.InA, app)
	refused(t, err, "APP_NOT_INACTIVE")
	if w.Rows("events") != before {
		t.Error("a refusal wrote an event")
	}
	once(t, 20, func(int) error {
		_, err := w.DeactivateApp(w.InA, app)
		return err
	}, "APP_NOT_ACTIVE")
	_, err = w.DeactivateApp(w.InA, app)
	refused(t, err, "APP_NOT_ACTIVE")
	if fault.From(err).Code != fault.Precondition ||
		w.App(w.id, app.AppId).State != projectsv1.AppState_APP_STATE_INACTIVE {
		t.Error(err)
	}
	w.Event(app.AppId, &projectsv1.ApplicationDeactivated{ProjectId: w.id, Generation: 2})
	if w.Rows("events") != before+1 {
		t.Error("the deactivation is not one event")
	}
	once(t, 20, func(int) error {
		_, err := w.ReactivateApp(w.InA, app)
		return err
	}, "APP_NOT_INACTIVE")
	// Tokens from before the deactivation stay invalid.
	if w.Rows("applications where id = $1 and generation = 2 and state = 1", app.AppId) != 1 ||
		w.Rows("events where name = 'reactivated' and aggregate_id = $1", app.AppId) != 1 {
		t.Error("the generation is not the raised one")
	}
}

func TestInactiveAppOfAnInactiveProjectIsChanged(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	app := &projectsv1.AppRequest{ProjectId: w.id, AppId: w.WebApp(w.InA, w.id, "Web").AppId}
	w.Must(w.DeactivateProject(w.InA, &projectsv1.DeactivateProjectRequest{ProjectId: w.id}))
	done, err := w.DeactivateApp(w.InA, app)
	w.Must(done, err)
	if got := w.App(w.id, app.AppId); got.Details.Sequence != done.Details.Sequence ||
		done.Details.ResourceOwner != "org-a" {
		t.Errorf("%v, %v", got, done)
	}
	w.Must(w.UpdateApp(w.InA, &projectsv1.UpdateAppRequest{ProjectId: w.id, AppId: app.AppId, Name: "Other"}))
	w.Must(w.UpdateOidcConfig(w.InA, &projectsv1.UpdateOidcConfigRequest{ProjectId: w.id, AppId: app.AppId}))
	w.Must(w.GenerateOidcClientSecret(w.InA, &projectsv1.GenerateClientSecretRequest{ProjectId: w.id,
		AppId: app.AppId}))
	w.apiApp("API", 0)
	if w.App(w.id, app.AppId).State != projectsv1.AppState_APP_STATE_INACTIVE {
		t.Error("a change made it active")
	}
	w.Must(w.RemoveApp(w.InA, app))
}

func TestAppIsRemovedOnceAndWithItsProject(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	web := w.WebApp(w.InA, w.id, "Web")
	once(t, 10, func(int) error {
		_, err := w.RemoveApp(w.InA, &projectsv1.AppRequest{ProjectId: w.id, AppId: web.AppId})
		return err
	}, "APP_NOT_FOUND")
	if w.Rows("applications") != 0 || w.Rows("events where name = 'removed' and aggregate_id = $1", web.AppId) != 1 {
		t.Error("the application is still there, or its removal is not one event")
	}
	again := w.WebApp(w.InA, w.id, "Web")
	if again.AppId == web.AppId {
		t.Error("the id is used again")
	}
	w.Must(w.RemoveProject(w.InA, &projectsv1.RemoveProjectRequest{ProjectId: w.id}))
	if w.Rows("applications") != 0 {
		t.Error("an application is left of a removed project")
	}
	naming := w.naming("")
	refused(t, naming["creates API"]("API"), "PROJECT_NOT_FOUND")
	refused(t, naming["creates OIDC"]("Web"), "PROJECT_NOT_FOUND")
}

func appNamed(text string, method heraldv1.TextQueryMethod) *projectsv1.AppFilter {
	return &projectsv1.AppFilter{NameQuery: &projectsv1.AppNameQuery{Name: text, Method: method}}
}

func appIn(state projectsv1.AppState) *projectsv1.AppFilter {
	return &projectsv1.AppFilter{StateQuery: &projectsv1.AppStateQuery{State: state}}
}

func TestSearchFindsAppsByNameAndState(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	names := []string{"Straße", "shop_1", "Shop%", "SHOP", "workshop"}
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = w.WebApp(w.InA, w.id, name).AppId
	}
	other := w.Project(w.InA, "Other")
	w.WebApp(w.InA, other, "shop_1")
	w.Must(w.DeactivateApp(w.InA, &projectsv1.AppRequest{ProjectId: w.id, AppId: ids[3]}))
	both := appNamed("shop", 3)
	both.StateQuery = appIn(2).StateQuery
	type filters = []*projectsv1.AppFilter
	for label, c := range map[string]struct {
		filters filters
		want    []int
	}{
		"all":                  {nil, []int{4, 3, 2, 1, 0}},
		"equals":               {filters{appNamed("SHOP", 0)}, []int{3}},
		"equals ignoring case": {filters{appNamed("sTRASSE", 1)}, []int{0}},
		"starts ignoring case": {filters{appNamed("shop", 3)}, []int{3, 2, 1}},
		"ends":                 {filters{appNamed("shop", 6)}, []int{4}},
		"active":               {filters{appIn(1)}, []int{4, 2, 1, 0}},
		"inactive":             {filters{appIn(2)}, []int{3}},
		"active and inactive":  {filters{appIn(1), appIn(2)}, nil},
		"both members":         {filters{both}, []int{3}},
		"and":                  {filters{appNamed("shop", 3), appIn(1)}, []int{2, 1}},
	} {
		t.Run(label, func(t *testing.T) {
			var want []string
			for _, n := range c.want {
				want = append(want, ids[n])
			}
			testworld.Found(t, want, func(q *heraldv1.ListQuery) ([]string, *heraldv1.ListDetails, error) {
				got, err := w.SearchApps(w.InA,
					&projectsv1.SearchAppsRequest{ProjectId: w.id, Query: q, Queries: c.filters})
				return appIDs(got), got.GetDetails(), err
			})
		})
	}
	list, err := w.SearchApps(w.InA, &projectsv1.SearchAppsRequest{ProjectId: other})
	if err != nil || len(list.Result) != 1 || list.Details.ViewTimestamp == nil || list.Details.ProcessedSequence == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	testkit.Equal(t, list.Result[0], w.App(other, list.Result[0].Id))
}

func TestWrongSearchOfAppsIsRefused(t *testing.T) {
	t.Parallel()
	w := newShop(t)
	for name, f := range map[string]*projectsv1.AppFilter{
		"empty": {}, "no state": appIn(0), "unknown state": appIn(3), "long": appNamed(strings.Repeat("a", 201), 0),
		"unknown method": appNamed("a", 8),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.SearchApps(w.InA,
				&projectsv1.SearchAppsRequest{ProjectId: w.id, Queries: []*projectsv1.AppFilter{f}})
			refused(t, err, "INVALID_ARGUMENT", "queries[0]")
		})
	}
	_, err := w.SearchApps(w.InA, &projectsv1.SearchAppsRequest{ProjectId: w.id,
		Queries: []*projectsv1.AppFilter{appIn(1), appNamed("a\x00b", 0)}})
	refused(t, err, "INVALID_ARGUMENT", "queries[1].nameQuery.name", "NUL")
	_, err = w.SearchApps(w.InA,
		&projectsv1.SearchAppsRequest{ProjectId: w.id, Query: &heraldv1.ListQuery{Limit: 1001}})
	refused(t, err, "LIMIT_EXCEEDED", "1000")
}

func appIDs(r *projectsv1.SearchAppsResponse) (ids []string) {
	for _, a := range r.GetResult() {
		ids = append(ids, a.Id)
	}
	return ids
}
