package oauth_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A login with a wrong password and one with the right password are found in the search of events, with the names of
// the person. The owner of another organization finds neither, and nobody the name that nobody has.
func TestLoginsAreInTheSearchOfEvents(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	history := w.Must("POST", "/management/v1/users/ada/changes/_search", "{}")["result"].([]any)
	v, shop := w.visitor(), w.application("Shop")
	for _, typed := range [][2]string{
		{"ada", "wrong horse"}, {"ada", "wronger horse"}, {"somebody-else", "correct horse"},
	} {
		v.named(v.submit(v.visit(shop.request()), "name", typed[0], "current", typed[1]), "Sign in")
	}
	v.login(shop, "ada")
	find := func(path, token, body string) (all []string) {
		t.Helper()
		as := *w.Instance
		as.Token = token
		for _, e := range as.Must("POST", path, body)["result"].([]any) {
			e := e.(map[string]any)
			fields := map[string]any{}
			for _, f := range e["fields"].([]any) {
				fields[f.(map[string]any)["name"].(string)] = f.(map[string]any)["after"]
			}
			of, by := e["aggregate"].(map[string]any), e["editor"].(map[string]any)
			if text := fmt.Sprint(e); strings.Contains(text, "horse") || strings.Contains(text, "somebody-else") {
				t.Errorf("%v", text)
			}
			if e["requestId"] == nil || fields["last"] == nil {
				t.Errorf("%v", e)
			}
			all = append(all, fmt.Sprintf("%s of %s %s by %v%v: %v %v %v", e["type"], of["id"], of["name"],
				by["displayName"], by["service"], fields["reason"], fields["amr"], fields["count"]))
		}
		return all
	}
	const in, refused = `human.logged_in of ada Ada Lovelace by Ada Lovelace: <nil> [pwd] 1`,
		`human.login_refused of ada Ada Lovelace by auth: LOGIN_WRONG <nil> 2`
	const types = `"eventTypes":["human.logged_in","human.login_refused"]`
	for _, path := range []string{"/management/v1/events/_search", "/admin/v1/events/_search"} {
		for _, body := range []string{"{" + types + "}", `{` + types + `,"aggregateId":"ada"}`} {
			if got := find(path, w.Token, body); !slices.Equal(got, []string{in, refused}) {
				t.Errorf("%s %s finds %q", path, body, got)
			}
		}
	}
	if got := find("/management/v1/events/_search", w.Token, `{`+types+`,"editorUserId":"ada"}`); !slices.Equal(got,
		[]string{in}) {
		t.Errorf("what ada did: %q", got)
	}

	other := *w.Instance
	other.Org = w.Must("POST", "/management/v1/orgs", `{"name":"Other"}`)["id"].(string)
	machine := other.Must("POST", "/management/v1/users/machine", `{"userName":"owner","name":"Owner"}`)
	owner := machine["userId"].(string)
	other.Must("POST", "/management/v1/orgs/me/members", fmt.Sprintf(`{"userId":%q,"roles":["ORG_OWNER"]}`, owner))
	token := other.Must("POST", "/management/v1/users/"+owner+"/pats", `{}`)["token"].(string)
	if got := find("/management/v1/events/_search", token, `{`+types+`}`); got != nil {
		t.Errorf("another organization finds %q", got)
	}
	other.Token, other.Org = token, ""
	if status, _ := other.Call("POST", "/admin/v1/events/_search", "{}"); status != http.StatusForbidden {
		t.Errorf("its owner gets %d for the instance", status)
	}
	after := w.Must("POST", "/management/v1/users/ada/changes/_search", "{}")["result"].([]any)
	if len(after) != len(history) {
		t.Errorf("the history of the user has %d events after %d", len(after), len(history))
	}
}
