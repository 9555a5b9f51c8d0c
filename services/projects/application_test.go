package projects_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// webApp creates a web application that authenticates by HTTP Basic.
func (w *world) webApp(ctx context.Context, projectID, name string) *projectsv1.CreateOidcAppResponse {
	w.Helper()
	r, err := w.CreateOidcApp(ctx, &projectsv1.CreateOidcAppRequest{
		ProjectId: projectID, Name: name, RedirectUris: []string{"https://app.example.com/callback"},
	})
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// app reads an application.
func (w *world) app(projectID, id string) *projectsv1.App {
	w.Helper()
	r, err := w.GetApp(w.inA, &projectsv1.GetAppRequest{ProjectId: projectID, AppId: id})
	if err != nil {
		w.Fatal(err)
	}
	return r.App
}

// takes reports whether an application accepts a secret at a time.
func (w *world) takes(appID, secret, now string) bool {
	w.Helper()
	hash := sha256.Sum256([]byte(secret))
	return w.rows(`applications where id = $1 and (secret_hash = $2 or former_secret_hash = $2 and `+
		`former_secret_until > $3::timestamptz)`, appID, hash[:], now) == 1
}

var secretForm = regexp.MustCompile(`^[a-zA-Z0-9]{64}$`)

func TestAppOfOIDC(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	before := w.rows("events")
	made := w.webApp(w.inA, p, " Web ")
	if !secretForm.MatchString(made.ClientSecret) || made.ClientId != made.AppId ||
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
			ClientId: made.AppId,
		}},
	}
	same(t, w.app(p, made.AppId), want)
	if w.rows("events") != before+1 || w.rows(`events where aggregate = 'application' and aggregate_id = $1 and name `+
		`= 'created' and data = jsonb_build_object('projectId', $2::text)`, made.AppId, p) != 1 {
		t.Error("the creation is not one event")
	}

	update := &projectsv1.UpdateOidcConfigRequest{
		ProjectId: p, AppId: made.AppId, RedirectUris: []string{"com.example.app:/cb", "http://127.0.0.1/cb"},
		ResponseTypes: []projectsv1.OidcResponseType{1},
		GrantTypes:    []projectsv1.OidcGrantType{3, 1, 2}, AppType: projectsv1.OidcAppType_OIDC_APP_TYPE_NATIVE,
		AuthMethodType:         projectsv1.OidcAuthMethodType_OIDC_AUTH_METHOD_TYPE_NONE,
		PostLogoutRedirectUris: []string{"com.example.app:/bye"}, BackChannelLogoutUri: "http://app.internal/logout",
		DevMode:         true,
		AccessTokenType: heraldv1.OidcTokenType_OIDC_TOKEN_TYPE_JWT, AccessTokenRoleAssertion: true,
		IdTokenRoleAssertion: true, IdTokenUserinfoAssertion: true,
		ClockSkew: durationpb.New(1500 * time.Millisecond), AdditionalOrigins: []string{"https://other.example.com"},
	}
	changed, err := w.UpdateOidcConfig(w.inA, update)
	if err != nil || changed.Details.Sequence <= made.Details.Sequence || changed.Details.CreationDate != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	got := w.app(p, made.AppId)
	same(t, got.GetOidcConfig(), &projectsv1.OidcConfig{
		RedirectUris: update.RedirectUris, ResponseTypes: update.ResponseTypes,
		GrantTypes: []projectsv1.OidcGrantType{1, 2, 3}, AppType: update.AppType, AuthMethodType: update.AuthMethodType,
		PostLogoutRedirectUris: update.PostLogoutRedirectUris, BackChannelLogoutUri: update.BackChannelLogoutUri,
		DevMode: true, AccessTokenType: update.AccessTokenType,
		AccessTokenRoleAssertion: true, IdTokenRoleAssertion: true, IdTokenUserinfoAssertion: true,
		ClockSkew: update.ClockSkew, AdditionalOrigins: update.AdditionalOrigins,
		ClientId: made.AppId, ComplianceProblems: []string{"HTTP_BEYOND_LOOPBACK"},
	})
	if got.Details.Sequence != changed.Details.Sequence || !proto.Equal(got.Details.ChangeDate,
		changed.Details.ChangeDate) || !proto.Equal(got.Details.CreationDate, made.Details.CreationDate) {
		t.Errorf("%v, %v", got.Details, changed.Details)
	}
	update.GrantTypes = []projectsv1.OidcGrantType{2, 3, 1}
	again, err := w.UpdateOidcConfig(w.inA, update)
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, changed)
	if n := w.rows(`events where data->'changed' @> '["redirectUris","grantTypes","authMethodType"]' and not `+
		`data->'changed' ? 'responseTypes' and data->>'projectId' = $1`, p); n != 1 {
		t.Errorf("%d events of the change", n)
	}
	// Fields that a replacement omits get the defaults of a creation.
	if _, err := w.UpdateOidcConfig(w.inA, &projectsv1.UpdateOidcConfigRequest{ProjectId: p, AppId: made.AppId,
		RedirectUris: []string{"https://app.example.com/callback"}}); err != nil {
		t.Fatal(err)
	}
	want.GetOidcConfig().ComplianceProblems = []string{"NO_CLIENT_SECRET"} // the other method removed the secret
	same(t, w.app(p, made.AppId).GetOidcConfig(), want.GetOidcConfig())
}

func TestAppOfAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	basic, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "Basic"})
	if err != nil || !secretForm.MatchString(basic.ClientSecret) || basic.ClientId != basic.AppId {
		t.Fatalf("%v, %v", basic, err)
	}
	const privateKey = projectsv1.ApiAuthMethodType_API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT
	key, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{
		ProjectId: p, Name: "Key", AuthMethodType: privateKey,
	})
	if err != nil || key.ClientSecret != "" {
		t.Fatalf("%v, %v", key, err)
	}
	same(t, w.app(p, key.AppId), &projectsv1.App{
		Id: key.AppId, Details: key.Details, State: projectsv1.AppState_APP_STATE_ACTIVE, Name: "Key",
		Config: &projectsv1.App_ApiConfig{ApiConfig: &projectsv1.ApiConfig{
			ClientId: key.AppId, AuthMethodType: privateKey,
		}},
	})
	_, err = w.GenerateApiClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{ProjectId: p, AppId: key.AppId})
	refused(t, err, "APP_USES_NO_SECRET")
	update := &projectsv1.UpdateApiConfigRequest{ProjectId: p, AppId: key.AppId}
	changed, err := w.UpdateApiConfig(w.inA, update)
	if err != nil || changed.Details.Sequence <= key.Details.Sequence {
		t.Fatalf("%v, %v", changed, err)
	}
	again, err := w.UpdateApiConfig(w.inA, update)
	if err != nil {
		t.Fatal(err)
	}
	same(t, again, changed)
	renewed, err := w.GenerateApiClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{ProjectId: p,
		AppId: key.AppId})
	if err != nil || !secretForm.MatchString(renewed.ClientSecret) || !w.takes(key.AppId, renewed.ClientSecret, "now") {
		t.Errorf("%v, %v", renewed, err)
	}

	// An application of one kind cannot become one of the other.
	before := w.rows("events")
	web := w.webApp(w.inA, p, "Web")
	_, err = w.UpdateOidcConfig(w.inA, &projectsv1.UpdateOidcConfigRequest{ProjectId: p, AppId: basic.AppId})
	refused(t, err, "APP_NOT_OIDC")
	_, err = w.GenerateOidcClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{ProjectId: p,
		AppId: basic.AppId})
	refused(t, err, "APP_NOT_OIDC")
	_, err = w.UpdateApiConfig(w.inA, &projectsv1.UpdateApiConfigRequest{
		ProjectId: p, AppId: web.AppId, AuthMethodType: privateKey,
	})
	refused(t, err, "APP_NOT_API")
	_, err = w.GenerateApiClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{ProjectId: p, AppId: web.AppId})
	refused(t, err, "APP_NOT_API")
	if fault.From(err).Code != fault.Precondition || w.rows("events") != before+1 ||
		!w.takes(web.AppId, web.ClientSecret, "now") || !w.takes(basic.AppId, basic.ClientSecret, "now") {
		t.Error("a refusal left something behind")
	}
}

func TestAppNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.project(w.inA, "Shop"), w.project(w.inA, "Other")
	web := w.webApp(w.inA, p, "Web")
	w.webApp(w.inA, p, "web")
	w.webApp(w.inA, other, "Web")
	before := w.rows("events")
	_, err := w.CreateOidcApp(w.inA, &projectsv1.CreateOidcAppRequest{ProjectId: p, Name: " Web "})
	refused(t, err, "APP_NAME_TAKEN")
	if f := fault.From(err); f.Code != fault.Exists || len(f.Fields) != 1 || f.Fields[0].Path != "name" {
		t.Errorf("%+v", f)
	}
	_, err = w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "Web"})
	refused(t, err, "APP_NAME_TAKEN")
	_, err = w.UpdateApp(w.inA, &projectsv1.UpdateAppRequest{ProjectId: p, AppId: web.AppId, Name: "web"})
	refused(t, err, "APP_NAME_TAKEN")
	for _, name := range []string{"", " ", "a\nb", strings.Repeat("ü", 201)} {
		_, err = w.UpdateApp(w.inA, &projectsv1.UpdateAppRequest{ProjectId: p, AppId: web.AppId, Name: name})
		refused(t, err, "INVALID_ARGUMENT", "name")
		_, err = w.CreateOidcApp(w.inA, &projectsv1.CreateOidcAppRequest{ProjectId: p, Name: name})
		refused(t, err, "INVALID_ARGUMENT", "name")
		_, err = w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: name})
		refused(t, err, "INVALID_ARGUMENT", "name")
	}
	kept, err := w.UpdateApp(w.inA, &projectsv1.UpdateAppRequest{ProjectId: p, AppId: web.AppId, Name: "Web"})
	if err != nil || kept.Details.Sequence != web.Details.Sequence || w.rows("events") != before {
		t.Errorf("%v, %v", kept, err)
	}
	longest := strings.Repeat("ü", 200)
	renamed, err := w.UpdateApp(w.inA, &projectsv1.UpdateAppRequest{ProjectId: p, AppId: web.AppId, Name: longest})
	if got := w.app(p, web.AppId); err != nil || got.Name != longest ||
		got.Details.Sequence != renamed.Details.Sequence ||
		w.rows(`events where data->'changed' = '["name"]' and aggregate_id = $1`, web.AppId) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// Creations and changes with contradictions or with forbidden addresses are refused, and nothing is
// written.
func TestAppConfigRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	web := w.webApp(w.inA, p, "Web")
	before := w.rows("events")
	for label, c := range map[string]struct {
		config *projectsv1.UpdateOidcConfigRequest
		id     string
		path   string
	}{
		"fragment": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: []string{"https://a.example/",
			"https://a.example/#x"}}, "OIDC_CONFIG_INVALID", "redirectUris[1]"},
		"script": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: []string{"javascript:alert(1)"},
			AppType: 3}, "OIDC_CONFIG_INVALID", "redirectUris[0]"},
		"http": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: []string{"http://a.example/"}},
			"OIDC_CONFIG_INVALID", "redirectUris[0]"},
		"logout": {&projectsv1.UpdateOidcConfigRequest{PostLogoutRedirectUris: []string{"http://a.example/"}},
			"OIDC_CONFIG_INVALID", "postLogoutRedirectUris[0]"},
		"back channel": {&projectsv1.UpdateOidcConfigRequest{BackChannelLogoutUri: "http://a.example/"},
			"OIDC_CONFIG_INVALID", "backChannelLogoutUri"},
		"origin": {&projectsv1.UpdateOidcConfigRequest{AdditionalOrigins: []string{"https://a.example/path"}},
			"OIDC_CONFIG_INVALID", "additionalOrigins[0]"},
		"refresh alone": {&projectsv1.UpdateOidcConfigRequest{GrantTypes: []projectsv1.OidcGrantType{2}},
			"OIDC_CONFIG_INVALID", "grantTypes"},
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
		"NUL": {&projectsv1.UpdateOidcConfigRequest{RedirectUris: []string{"https://a.example/\x00"}},
			"OIDC_CONFIG_INVALID", "redirectUris[0]"},
	} {
		c.config.ProjectId, c.config.AppId = p, web.AppId
		_, changeErr := w.UpdateOidcConfig(w.inA, c.config)
		create := &projectsv1.CreateOidcAppRequest{
			ProjectId: p, Name: label, RedirectUris: c.config.RedirectUris, GrantTypes: c.config.GrantTypes,
			AppType: c.config.AppType, AuthMethodType: c.config.AuthMethodType,
			PostLogoutRedirectUris: c.config.PostLogoutRedirectUris,
			BackChannelLogoutUri:   c.config.BackChannelLogoutUri, AccessTokenType: c.config.AccessTokenType,
			ClockSkew: c.config.ClockSkew, AdditionalOrigins: c.config.AdditionalOrigins,
		}
		_, createErr := w.CreateOidcApp(w.inA, create)
		for _, err := range []error{changeErr, createErr} {
			refused(t, err, c.id, c.path)
			if f := fault.From(err); f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Path != c.path {
				t.Errorf("%s: %+v", label, f)
			}
		}
	}
	_, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "API", AuthMethodType: 7})
	refused(t, err, "INVALID_ARGUMENT", "authMethodType")
	if w.rows("events") != before || w.rows("applications") != 1 {
		t.Error("something was written")
	}
	full, err := w.CreateOidcApp(w.inA, &projectsv1.CreateOidcAppRequest{
		ProjectId: p, Name: "Full", RedirectUris: manyURIs(100), ClockSkew: durationpb.New(5 * time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := w.app(p, full.AppId).GetOidcConfig(); !slices.Equal(c.RedirectUris, manyURIs(100)) ||
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

func TestAppStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	app := &projectsv1.AppRequest{ProjectId: p, AppId: w.webApp(w.inA, p, "Web").AppId}
	before := w.rows("events")
	_, err := w.ReactivateApp(w.inA, app)
	refused(t, err, "APP_NOT_INACTIVE")
	if w.rows("events") != before {
		t.Error("a refusal wrote an event")
	}
	if n := race(t, 20, func(int) error {
		_, err := w.DeactivateApp(w.inA, app)
		return err
	}, "APP_NOT_ACTIVE"); n != 1 {
		t.Errorf("%d of 20 deactivations succeeded", n)
	}
	_, err = w.DeactivateApp(w.inA, app)
	refused(t, err, "APP_NOT_ACTIVE")
	if fault.From(err).Code != fault.Precondition ||
		w.app(p, app.AppId).State != projectsv1.AppState_APP_STATE_INACTIVE {
		t.Error(err)
	}
	if w.rows(`events where name = 'deactivated' and aggregate_id = $1 and data = jsonb_build_object('projectId', `+
		`$2::text, 'generation', '2')`, app.AppId, p) != 1 || w.rows("events") != before+1 {
		t.Error("the event does not carry the generation")
	}
	if n := race(t, 20, func(int) error {
		_, err := w.ReactivateApp(w.inA, app)
		return err
	}, "APP_NOT_INACTIVE"); n != 1 {
		t.Errorf("%d of 20 reactivations succeeded", n)
	}
	// Tokens from before the deactivation stay invalid.
	if w.rows("applications where id = $1 and generation = 2 and state = 1", app.AppId) != 1 ||
		w.rows("events where name = 'reactivated' and aggregate_id = $1", app.AppId) != 1 {
		t.Error("the generation is not the raised one")
	}
	// Everything else works on an inactive application, and in an inactive project.
	if _, err := w.DeactivateProject(w.inA, &projectsv1.DeactivateProjectRequest{ProjectId: p}); err != nil {
		t.Fatal(err)
	}
	done, err := w.DeactivateApp(w.inA, app)
	if got := w.app(p, app.AppId); err != nil || got.Details.Sequence != done.Details.Sequence ||
		done.Details.ResourceOwner != "org-a" {
		t.Errorf("%v, %v", done, err)
	}
	for label, change := range map[string]func() error{
		"rename": func() error {
			_, err := w.UpdateApp(w.inA, &projectsv1.UpdateAppRequest{ProjectId: p, AppId: app.AppId, Name: "Other"})
			return err
		},
		"configure": func() error {
			_, err := w.UpdateOidcConfig(w.inA, &projectsv1.UpdateOidcConfigRequest{ProjectId: p, AppId: app.AppId})
			return err
		},
		"secret": func() error {
			_, err := w.GenerateOidcClientSecret(w.inA, &projectsv1.GenerateClientSecretRequest{ProjectId: p,
				AppId: app.AppId})
			return err
		},
		"create": func() error {
			_, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "API"})
			return err
		},
	} {
		if err := change(); err != nil {
			t.Errorf("%s: %v", label, err)
		}
	}
	if w.app(p, app.AppId).State != projectsv1.AppState_APP_STATE_INACTIVE {
		t.Error("a change made it active")
	}
	if _, err := w.RemoveApp(w.inA, app); err != nil {
		t.Error(err)
	}
}

func TestAppRemoval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	web := w.webApp(w.inA, p, "Web")
	app := &projectsv1.AppRequest{ProjectId: p, AppId: web.AppId}
	if n := race(t, 10, func(int) error {
		_, err := w.RemoveApp(w.inA, app)
		return err
	}, "APP_NOT_FOUND"); n != 1 {
		t.Errorf("%d of 10 removals succeeded", n)
	}
	if w.rows("applications") != 0 || w.rows("events where name = 'removed' and aggregate_id = $1", web.AppId) != 1 {
		t.Error("removal is not whole, or said more than once")
	}
	again := w.webApp(w.inA, p, "Web")
	if again.AppId == web.AppId {
		t.Error("an id was given again")
	}
	if _, err := w.RemoveProject(w.inA, &projectsv1.RemoveProjectRequest{ProjectId: p}); err != nil {
		t.Fatal(err)
	}
	if w.rows("applications") != 0 {
		t.Error("an application outlived its project")
	}
	_, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: p, Name: "API"})
	refused(t, err, "PROJECT_NOT_FOUND")
	_, err = w.CreateOidcApp(w.inA, &projectsv1.CreateOidcAppRequest{ProjectId: p, Name: "Web"})
	refused(t, err, "PROJECT_NOT_FOUND")
}

func appNamed(text string, method heraldv1.TextQueryMethod) *projectsv1.AppFilter {
	return &projectsv1.AppFilter{NameQuery: &projectsv1.AppNameQuery{Name: text, Method: method}}
}

func appIn(state projectsv1.AppState) *projectsv1.AppFilter {
	return &projectsv1.AppFilter{StateQuery: &projectsv1.AppStateQuery{State: state}}
}

func TestSearchApps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, other := w.project(w.inA, "Shop"), w.project(w.inA, "Other")
	names := []string{"Straße", "shop_1", "Shop%", "SHOP", "workshop"}
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = w.webApp(w.inA, p, name).AppId
	}
	w.webApp(w.inA, other, "shop_1")
	api, err := w.CreateApiApp(w.inA, &projectsv1.CreateApiAppRequest{ProjectId: other, Name: "API"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.DeactivateApp(w.inA, &projectsv1.AppRequest{ProjectId: p, AppId: ids[3]}); err != nil {
		t.Fatal(err)
	}
	name, state := appNamed, appIn
	both := name("shop", 3)
	both.StateQuery = state(2).StateQuery
	type filters = []*projectsv1.AppFilter
	for label, c := range map[string]struct {
		filters filters
		want    []int
	}{
		"all":                    {nil, []int{4, 3, 2, 1, 0}},
		"equals":                 {filters{name("SHOP", 0)}, []int{3}},
		"equals ignoring case":   {filters{name("sTRASSE", 1)}, []int{0}},
		"starts":                 {filters{name("shop", 2)}, []int{1}},
		"starts ignoring case":   {filters{name("shop", 3)}, []int{3, 2, 1}},
		"contains":               {filters{name("hop", 4)}, []int{4, 2, 1}},
		"contains ignoring case": {filters{name("hOp", 5)}, []int{4, 3, 2, 1}},
		"ends":                   {filters{name("shop", 6)}, []int{4}},
		"ends ignoring case":     {filters{name("Shop", 7)}, []int{4, 3}},
		"percent":                {filters{name("%", 4)}, []int{2}},
		"underline":              {filters{name("p_", 5)}, []int{1}},
		"empty equals":           {filters{name("", 0)}, nil},
		"empty starts":           {filters{name("", 2)}, []int{4, 3, 2, 1, 0}},
		"active":                 {filters{state(1)}, []int{4, 2, 1, 0}},
		"inactive":               {filters{state(2)}, []int{3}},
		"active and inactive":    {filters{state(1), state(2)}, nil},
		"both members":           {filters{both}, []int{3}},
		"and":                    {filters{name("shop", 3), state(1)}, []int{2, 1}},
	} {
		var want []string
		for _, n := range c.want {
			want = append(want, ids[n])
		}
		found(t, label, want, func(q *heraldv1.ListQuery) ([]string, *heraldv1.ListDetails, error) {
			got, err := w.SearchApps(w.inA, &projectsv1.SearchAppsRequest{ProjectId: p, Query: q, Queries: c.filters})
			return appIDs(got), got.GetDetails(), err
		})
	}
	list, err := w.SearchApps(w.inA, &projectsv1.SearchAppsRequest{ProjectId: other})
	if err != nil || len(list.Result) != 2 || list.Details.ViewTimestamp == nil || list.Details.ProcessedSequence == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	same(t, list.Result[0], w.app(other, api.AppId))
}

func TestSearchAppsRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project(w.inA, "Shop")
	for _, f := range []*projectsv1.AppFilter{{}, appIn(0), appIn(3), appNamed(strings.Repeat("a", 201), 0),
		appNamed("a", 8)} {
		_, err := w.SearchApps(w.inA, &projectsv1.SearchAppsRequest{ProjectId: p, Queries: []*projectsv1.AppFilter{f}})
		refused(t, err, "INVALID_ARGUMENT", "queries[0]")
	}
	_, err := w.SearchApps(w.inA, &projectsv1.SearchAppsRequest{ProjectId: p,
		Queries: []*projectsv1.AppFilter{appIn(1), appNamed("a\x00b", 0)}})
	refused(t, err, "INVALID_ARGUMENT", "queries[1].nameQuery.name", "NUL")
	_, err = w.SearchApps(w.inA, &projectsv1.SearchAppsRequest{ProjectId: p, Query: &heraldv1.ListQuery{Limit: 1001}})
	refused(t, err, "LIMIT_EXCEEDED", "1000")
}

func appIDs(r *projectsv1.SearchAppsResponse) (ids []string) {
	for _, a := range r.GetResult() {
		ids = append(ids, a.Id)
	}
	return ids
}
