package main

import "strings"

// value is a parameter of an endpoint, or a member of its answer.
type value struct {
	name     string
	example  any
	required bool
	text     string
}

// endpoint is an endpoint of OAuth 2.0 or OpenID Connect. It is no method of a contract: standards define it.
type endpoint struct {
	verb, path, id, summary, text string
	// security says who may call: nil for everybody.
	security []object
	query    []value
	form     []value
	// answer is empty for an endpoint that answers browsers with pages and redirects.
	answer []value
}

const oauthTag = "OAuth"

var (
	byClient = []object{{{"client", []string{}}}, {}}
	byToken  = []object{{{"bearer", []string{"openid"}}}, {{"oauth2", []string{"openid"}}}}
	clientID = value{"client_id", exampleID, false, "The application, unless its header `Authorization` names it."}
	aToken   = value{"token", "a token", true, "An access token or a refresh token."}
	metadata = []value{
		{"issuer", "http://localhost:8080", true, ""},
		{"authorization_endpoint", "http://localhost:8080/oauth/v2/authorize", true, ""},
		{"token_endpoint", "http://localhost:8080/oauth/v2/token", true, ""},
		{"jwks_uri", "http://localhost:8080/oauth/v2/keys", true, ""},
	}
	profile = []value{
		{"sub", exampleID, true, "The id of the user."}, {"name", "Mini Mouse", false, "With the scope `profile`."},
		{"email", "mini@example.com", false, "With the scope `email`."},
		{"email_verified", true, false, "With the scope `email`."},
	}
	authorization = []value{
		{"client_id", exampleID, true, ""}, {"redirect_uri", "https://shop.example.com/callback", false, ""},
		{"response_type", "code", true, "`code`."}, {"scope", "openid profile", false, ""},
		{"state", "af0ifjsldkj", false, ""}, {"nonce", "n-0S6_WzA2Mj", false, ""},
		{"code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", false, "Required of public applications."},
		{"code_challenge_method", "S256", false, "`S256`."}, {"prompt", "login", false, ""},
	}
	logout = []value{
		{"id_token_hint", "an id token", false, ""}, {"client_id", exampleID, false, ""},
		{"post_logout_redirect_uri", "https://shop.example.com/", false, ""}, {"state", "af0ifjsldkj", false, ""},
	}
)

// endpoints are all of them, in the order of their paths.
var endpoints = []endpoint{
	{verb: "get", path: "/.well-known/oauth-authorization-server", id: "GetOAuthMetadata",
		summary: "Metadata of the authorization server", text: "RFC 8414.", answer: metadata},
	{verb: "get", path: "/.well-known/openid-configuration", id: "GetOpenIDMetadata",
		summary: "Metadata of the OpenID provider", text: "OpenID Connect Discovery 1.0.", answer: metadata},
	{verb: "get", path: "/oauth/v2/authorize", id: "Authorize", summary: "Begins a login",
		text:  "RFC 6749, section 3.1, RFC 7636 and OpenID Connect Core, section 3.1.2. The browser goes here.",
		query: authorization},
	{verb: "post", path: "/oauth/v2/authorize", id: "AuthorizeByForm", summary: "Begins a login by a form",
		text: "The same with the parameters in the body.", form: authorization},
	{verb: "post", path: "/oauth/v2/device_authorization", id: "AuthorizeDevice",
		summary: "Begins a login on another device", text: "RFC 8628.", security: byClient,
		form: []value{clientID, {"scope", "openid", false, ""}},
		answer: []value{
			{"device_code", "a code", true, ""}, {"user_code", "BCDF-GHJK", true, ""},
			{"verification_uri", "http://localhost:8080/ui/device", true, ""}, {"expires_in", 600, true, ""},
			{"interval", 5, false, ""},
		}},
	{verb: "post", path: "/oauth/v2/introspect", id: "Introspect", summary: "Says whether a token is valid",
		text: "RFC 7662.", security: byClient, form: []value{aToken, clientID},
		answer: []value{
			{"active", true, true, ""}, {"sub", exampleID, false, ""}, {"client_id", exampleID, false, ""},
			{"scope", "openid", false, ""}, {"exp", 1795689000, false, ""},
		}},
	{verb: "get", path: "/oauth/v2/keys", id: "GetKeys", summary: "The keys that verify tokens", text: "RFC 7517.",
		answer: []value{{"keys", []object{{{"kty", "RSA"}, {"kid", exampleID}, {"use", "sig"}}}, true, ""}}},
	{verb: "post", path: "/oauth/v2/revoke", id: "Revoke", summary: "Ends a token", text: "RFC 7009.",
		security: byClient, form: []value{aToken, clientID}},
	{verb: "post", path: "/oauth/v2/token", id: "Token", summary: "Issues tokens",
		text:     "RFC 6749, section 3.2. The guide `/docs/login-by-program` shows each way to a token.",
		security: byClient,
		form: []value{
			{"grant_type", "authorization_code", true, "`authorization_code`, `refresh_token`, `client_credentials`, " +
				"`urn:ietf:params:oauth:grant-type:jwt-bearer` or `urn:ietf:params:oauth:grant-type:device_code`."},
			{"code", "a code", false, ""}, {"redirect_uri", "https://shop.example.com/callback", false, ""},
			{"code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", false, ""}, clientID,
		},
		answer: []value{
			{"access_token", "a token", true, ""}, {"token_type", "Bearer", true, ""}, {"expires_in", 3600, true, ""},
			{"scope", "openid", false, ""}, {"id_token", "a JWT", false, "With the scope `openid`."},
			{"refresh_token", "a token", false, "With the scope `offline_access`."},
		}},
	{verb: "get", path: "/oidc/v1/end_session", id: "EndSession", summary: "Logs the person at the browser out",
		text: "OpenID Connect RP-Initiated Logout 1.0.", query: logout},
	{verb: "post", path: "/oidc/v1/end_session", id: "EndSessionByForm", summary: "Logs out by a form",
		text: "The same with the parameters in the body.", form: logout},
	{verb: "get", path: "/oidc/v1/userinfo", id: "GetUserinfo", summary: "Says who the person is",
		text: "OpenID Connect Core, section 5.3.", security: byToken, answer: profile},
	{verb: "post", path: "/oidc/v1/userinfo", id: "GetUserinfoByForm", summary: "Says who the person is",
		text: "The same by POST.", security: byToken, answer: profile},
}

// oauthPaths returns the descriptions of the endpoints.
func oauthPaths() (paths object) {
	for _, e := range endpoints {
		if len(paths) == 0 || paths[len(paths)-1].name != e.path {
			paths = paths.with(e.path, object{})
		}
		at := &paths[len(paths)-1]
		at.value = at.value.(object).with(e.verb, e.operation())
	}
	return paths
}

func (e endpoint) operation() object {
	security := e.security
	if security == nil {
		security = []object{}
	}
	entry := object{
		{"operationId", oauthTag + "_" + e.id}, {"tags", []string{oauthTag}}, {"summary", e.summary},
		{"description", e.text}, {"security", security},
	}
	if e.query != nil {
		var all []object
		for _, v := range e.query {
			all = append(all, object{{"name", v.name}, {"in", "query"}, {"required", v.required},
				{"schema", v.schema()}, {"example", v.example}})
		}
		entry = entry.with("parameters", all)
	}
	if e.form != nil {
		entry = entry.with("requestBody", object{{"required", true}, {"content", body(
			"application/x-www-form-urlencoded", e.form)}})
	}
	return entry.with("responses", e.responses())
}

func (e endpoint) responses() object {
	refused := object{{"description", "Refused (RFC 6749, section 5.2, or RFC 6750, section 3)."}, {"content", body(
		"application/json", []value{
			{"error", "invalid_request", true, "See the guide `/docs/login-by-program`."},
			{"error_description", "The parameter token is missing", false, "For people; may change."},
		})}}
	switch {
	case e.answer != nil && e.security == nil:
		return object{{"200", object{{"description", "Done."}, {"content", body("application/json", e.answer)}}}}
	case e.answer != nil:
		return object{
			{"200", object{{"description", "Done."}, {"content", body("application/json", e.answer)}}},
			{"400", refused}, {"401", refused},
		}
	case e.security != nil:
		return object{{"200", object{{"description", "Done, also for a token that is not valid."}}},
			{"400", refused}, {"401", refused}}
	}
	page := object{{"text/html", object{{"schema", object{{"type", "string"}}}}}}
	return object{
		{"200", object{{"description", "A page for the person at the browser."}, {"content", page}}},
		{"303", object{{"description", "The browser goes on to the login, or back to the application."}}},
		{"400", object{{"description", "A page that says what is wrong."}, {"content", page}}},
	}
}

// body returns a body with a schema and an example.
func body(media string, values []value) object {
	var properties, example object
	required := []string{}
	for _, v := range values {
		properties, example = properties.with(v.name, v.schema()), example.with(v.name, v.example)
		if v.required {
			required = append(required, v.name)
		}
	}
	return object{{media, object{
		{"schema", object{
			{"type", "object"}, {"required", required}, {"properties", properties}, {"additionalProperties", object{}},
		}},
		{"example", example},
	}}}
}

func (v value) schema() object {
	schema := object{{"type", "string"}}
	switch v.example.(type) {
	case int:
		schema = object{{"type", "integer"}}
	case bool:
		schema = object{{"type", "boolean"}}
	case []object:
		schema = object{{"type", "array"}, {"items", object{{"type", "object"}}}}
	}
	if text := strings.TrimSpace(v.text); text != "" {
		schema = schema.with("description", text)
	}
	return schema
}
