package oauth_test

import (
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

var (
	countLine = regexp.MustCompile(`(?m)^(herald_[a-z_]+_total)\{(.*)\} (\d+)$`)
	label     = regexp.MustCompile(`"([^"]*)"`)
)

// counted returns what the operator's port says of a counter, by the values of its labels.
func counted(t *testing.T, ops, name string) map[string]string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ops+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, line := range countLine.FindAllStringSubmatch(string(text), -1) {
		if line[1] != name {
			continue
		}
		var values []string
		for _, value := range label.FindAllStringSubmatch(line[2], -1) {
			values = append(values, value[1])
		}
		got[strings.Join(values, " ")] = line[3]
	}
	return got
}

func expectCounted(t *testing.T, ops, name string, want map[string]string) {
	t.Helper()
	if got := counted(t, ops, name); !maps.Equal(got, want) {
		t.Errorf("%s: counted %v, want %v", name, got, want)
	}
}

// The operator's port counts the requests to the token endpoint by grant and result. Whatever a client sends, there are
// no other names in it than those of grants and errors.
func TestGrantsAreCounted(t *testing.T) {
	t.Parallel()
	ops := whole.FreeAddress(t)
	w := start(t, "HERALD_OPS_LISTEN="+ops)
	id := w.machine("ci")
	secret, file := w.secretOf(id), w.keyOf(id)
	w.token(secret, "grant_type", "client_credentials")
	w.token(secret, "grant_type", "client_credentials")
	w.token("", "grant_type", bearer, "assertion", w.sign(file, w.claims(id, nil)))
	w.post("/oauth/v2/token", id+":wrong", "grant_type", "client_credentials")
	w.post("/oauth/v2/token", "", "grant_type", bearer, "assertion", "x")
	w.post("/oauth/v2/token", "", "grant_type", "planted")
	w.post("/oauth/v2/token", "")
	expectCounted(t, ops, "herald_grants_total", map[string]string{
		"client_credentials ok": "2", "client_credentials invalid_client": "1", bearer + " ok": "1",
		bearer + " invalid_grant": "1", "unknown unsupported_grant_type": "1", "unknown invalid_request": "1",
	})
}

// The operator's port also counts introspections, revocations, and the answers to authorization requests.
func TestChecksAndLoginsAreCounted(t *testing.T) {
	t.Parallel()
	ops := whole.FreeAddress(t)
	w := start(t, "HERALD_OPS_LISTEN="+ops)
	machine := w.secretOf(w.machine("ci"))
	token := w.token(machine, "grant_type", "client_credentials").text("access_token")
	w.introspect(machine, token)
	w.introspect(machine, token)
	w.introspect(machine, "planted")
	w.introspect(machine+"x", token)
	w.post(introspection, machine)
	w.post(revocation, machine+"x", "token", token)
	w.post(revocation, machine, "token", token)
	w.post(revocation, machine, "token", token)
	w.introspect(machine, token)
	expectCounted(t, ops, "herald_introspections_total", map[string]string{
		"active": "2", "inactive": "2", "invalid_client": "1", "invalid_request": "1",
	})
	expectCounted(t, ops, "herald_revocations_total", map[string]string{"ok": "2", "invalid_client": "1"})

	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	shop, c := w.application("Shop"), open(t)
	c.visit(shop.request("prompt", "none"))
	c.visit(shop.request("client_id", "planted"))
	c.visit(shop.request())
	if got := c.submit("name", "ada", "current", "correct horse"); got != "Welcome" {
		t.Fatalf("the login leads to %q", got)
	}
	c.visit(shop.request())
	w.visit("GET", "/ui/login/consent?request=planted", nil)
	expectCounted(t, ops, "herald_authorizations_total", map[string]string{
		"ok": "2", "login_required": "1", "invalid_request": "1", "expired": "1",
	})
}

// The operator's port counts the logins at directories, also those that fail because the directory cannot be reached.
func TestLoginsAtDirectoriesAreCounted(t *testing.T) {
	t.Parallel()
	ops := whole.FreeAddress(t)
	c := newCompany(t, "", "HERALD_OPS_LISTEN="+ops)
	c.linked("ada", outside.Ada, "")
	shop, v := c.application("Shop"), c.visitor()
	v.named(c.arrive(v, v.visit(shop.request())), "Welcome")
	c.at.LogIn(outside.Claims{"oid": outside.OtherCompany})
	other := c.visitor()
	other.named(c.arrive(other, other.visit(shop.request())), "Nobody here has this account")
	c.Must("PUT", "/management/v1/idps/directory/"+c.idp, // whose metadata were not read yet
		`{"tenant":{"tenantType":"DIRECTORY_TENANT_TYPE_ORGANISATIONS"}}`)
	c.at.Replace(outside.Metadata, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	})
	late := c.visitor()
	late.named(late.press(late.visit(shop.request()), "Company"), "One moment, please")
	expectCounted(t, ops, "herald_external_logins_begun_total", map[string]string{"ok": "2", "IDP_AWAY": "1"})
	expectCounted(t, ops, "herald_external_logins_total", map[string]string{"ok": "1", "IDP_LINK_NOT_FOUND": "1"})
}
