package command_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loggedIn returns an instance and writes a login at it whose token has ended. answer answers each request to an
// endpoint.
func loggedIn(t *testing.T, login string, answer http.HandlerFunc) (instance string) {
	t.Helper()
	var address string
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.ReplaceAll(`{"issuer":"URL","token_endpoint":"URL/token",
			"device_authorization_endpoint":"URL/device","revocation_endpoint":"URL/revoke"}`, "URL", address))
	})
	mux.HandleFunc("/", answer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	address = server.URL
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	file := filepath.Join(config, "herald", url.QueryEscape(address)+".json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if login != "" {
		if err := os.WriteFile(file, []byte(login), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return address
}

// refuses answers as OAuth 2.0 does.
func refuses(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const endedLogin = `{"clientId":"c","token":{"access_token":"a","refresh_token":"r","expiry":"2020-01-01T00:00:00Z"}}`

// What goes wrong with a login says what to do.
func TestLoginMistakes(t *testing.T) { //nolint:paralleltest // it sets variables
	ended := refuses(400, `{"error":"invalid_grant","error_description":"the token has ended"}`)
	for name, c := range map[string]struct {
		login  string
		answer http.HandlerFunc
		args   []string
		want   string
	}{
		"no client": {"", ended, []string{"login"}, "--client-id is needed for the first login"},
		"wrong client": {"", refuses(401, `{"error":"invalid_client"}`), []string{"login", "--client-id", "x"},
			"invalid_client"},
		"not logged in": {"", ended, []string{"logout"}, "nobody is logged in at http://"},
		"damaged":       {"{", ended, []string{"call", "Users.GetMyUser"}, "remove it and log in again"},
		"ended": {endedLogin, ended, []string{"call", "Users.GetMyUser"},
			"has ended: log in again with `herald login`: the token has ended"},
		"away":          {endedLogin, refuses(503, `{}`), []string{"call", "Users.GetMyUser"}, "UNAVAILABLE"},
		"no revocation": {endedLogin, refuses(503, `{}`), []string{"logout"}, "you are still logged in"},
	} {
		t.Run(name, func(t *testing.T) {
			instance := loggedIn(t, c.login, c.answer)
			if out, err := execute(t, "", append(c.args, "--url", instance)...); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
}

// A token that is given goes before the login, and the login before the administrator's token of the first start.
func TestWhoCalls(t *testing.T) { //nolint:paralleltest // it sets variables
	var callers []string
	instance := loggedIn(t, strings.Replace(endedLogin, "2020", "9020", 1),
		func(w http.ResponseWriter, r *http.Request) {
			callers = append(callers, r.Header.Get("Authorization"))
			says("{}")(w, r)
		})
	data := t.TempDir()
	if err := os.WriteFile(data+"/admin.pat", []byte("admin"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HERALD_DATA_DIR", data)
	t.Setenv("HERALD_PUBLIC_URL", instance)
	for _, args := range [][]string{{"--token-file", file(t, "given")}, nil} {
		if _, err := execute(t, "", append([]string{"call", "Users.GetMyUser"}, args...)...); err != nil {
			t.Error(err)
		}
	}
	if _, err := execute(t, "", "logout"); err != nil {
		t.Error(err)
	}
	if _, err := execute(t, "", "call", "Users.GetMyUser"); err != nil {
		t.Error(err)
	}
	if want := "Bearer given,Bearer a,,Bearer admin"; strings.Join(callers, ",") != want {
		t.Errorf("%q, want %s", callers, want)
	}
}
