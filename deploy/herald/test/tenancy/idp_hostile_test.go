package tenancy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"herald/shared/contract"
)

// Hostile requests to the methods of identity providers, and of users' links to them, are
// refused before anything is written, or their values are stored as plain texts.
func TestHostileIdps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.visit("the owner", w.own.org, "ORG_OWNER", "")
	var methods []contract.Method
	for _, m := range w.methods() {
		if m.Owner() == "idp" || m.Name() == "SearchUserIdpLinks" || m.Name() == "RemoveUserIdpLink" {
			w.objects(m) // makes the objects before the changes are counted
			methods = append(methods, m)
		}
	}
	if len(methods) != 12 {
		t.Errorf("%d methods", len(methods))
	}
	places := w.placed(methods[slices.IndexFunc(methods, func(m contract.Method) bool { return m.Name() == "GetIdp" })])
	id, theirs := places[own]["id"], places[foreign]["id"]
	victim, written := w.digest(), w.written("idp")+w.written("users")
	for _, m := range methods {
		w.unreadable(m, owner)
		w.oddPaths(m, owner)
	}
	w.forgedPages(methods, owner)
	w.nothingsOfIdps(owner, id)
	if now := w.written("idp") + w.written("users"); now != written {
		t.Errorf("%d changes were made", now-written)
	}
	w.ignoredOfIdps(owner, id, theirs)
	w.markupOfIdps(owner)
	if now := w.digest(); now != victim {
		t.Errorf("what another organization has was changed: %s", difference(victim, now))
	}
}

// nothingsOfIdps puts a NUL character, incomplete UTF-16 and SQL where requests name something.
func (w *world) nothingsOfIdps(owner visitor, id string) {
	for route, bodies := range map[string][]string{
		"POST /management/v1/idps/_search": {
			`{"queries":[{"nameQuery":{"name":"%s","method":4}}]}`,
			`{"queries":[{"nameQuery":{"name":"%s","method":1}}]}`,
			`{"queries":[{"nameQuery":{"name":"%s","method":6}}]}`,
		},
		"PUT /management/v1/idps/directory/" + id: {
			`{"name":"%s"}`, `{"clientId":"%s"}`, `{"clientSecret":"%s"}`, `{"tenant":{"tenantId":"%s"}}`,
			`{"scopes":["%s"]}`,
		},
	} {
		for _, body := range bodies {
			for _, value := range []string{`a\u0000b`, `\ud800`, `' or '1'='1`, `'; drop table idps; --`} {
				if strings.HasPrefix(route, "PUT") && strings.HasPrefix(value, "'") &&
					!strings.Contains(body, "tenant") && !strings.Contains(body, "scopes") {
					continue // a name, for a literal mind
				}
				got := w.send(owner.token, "", route, fmt.Sprintf(body, value))
				if got.status != http.StatusBadRequest && !strings.Contains(got.body, `"totalResult":"0"`) {
					w.t.Errorf("%s with %s answered %d %s", route, fmt.Sprintf(body, value), got.status, got.body)
				}
			}
		}
	}
	for _, at := range []string{"a%00b", "%ff", strings.Repeat("a", 201), "'%20or%20''='"} {
		for _, route := range []string{"GET /management/v1/idps/" + at, "DELETE /management/v1/users/" + owner.id +
			"/idps/" + at + "/a", "DELETE /management/v1/users/" + owner.id + "/idps/a/" + at} {
			got := w.send(owner.token, "", route, "")
			if got.status != http.StatusNotFound && got.status != http.StatusForbidden {
				w.t.Errorf("%s answered %d %s", route, got.status, got.body)
			}
		}
	}
}

// ignoredOfIdps sends values for fields that only the service sets, and the id of another organization's provider in
// the body.
func (w *world) ignoredOfIdps(owner visitor, id, theirs string) {
	path := "/management/v1/idps/" + id
	_, before := w.post(w.own.org, "GET "+path, "")
	said := `{"idpId":"evil","id":"` + theirs + `","details":{"sequence":"1","resourceOwner":"evil"},"state":1,
		"resourceOwner":"` + w.foreign.org + `","orgId":"` + w.foreign.org + `","type":7,
		"redirectUri":"https://evil.example","evil":{"evil":["evil"]}}`
	got := w.send(owner.token, "", "PUT /management/v1/idps/directory/"+id, said)
	_, after := w.post(w.own.org, "GET "+path, "")
	if a, b := text(before), text(after); got.status != http.StatusOK || a != b {
		w.t.Errorf("answered %d %s; it was %s and is %s", got.status, got.body, a, b)
	}
	for _, action := range []string{"_reactivate", "_deactivate"} {
		if got := w.send(owner.token, "", "POST "+path+"/"+action, said); got.status != http.StatusOK ||
			strings.Contains(got.body, "evil") {
			w.t.Errorf("%s answered %d %s", action, got.status, got.body)
		}
	}
	var evil int
	if err := w.db["idp"].QueryRow(w.t.Context(), `select (select count(*) from idps t where t::text like '%evil%')
		+ (select count(*) from events t where t::text like '%evil%')`).Scan(&evil); err != nil || evil > 0 {
		w.t.Errorf("%d rows say what only the service says: %v", evil, err)
	}
}

// markupOfIdps names a provider as a page, and finds the name unchanged.
func (w *world) markupOfIdps(owner visitor) {
	for _, name := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `{{.Code}}`,
		`javascript:alert(1)`, `%s%n`, `${jndi:ldap://evil}`, `a'b"c\d`} {
		body, _ := json.Marshal(map[string]string{"name": name, "clientId": name, "clientSecret": name})
		id, _ := w.must(w.own.org, "POST /management/v1/idps/directory", string(body))["id"].(string)
		got := w.send(owner.token, "", "GET /management/v1/idps/"+id, "")
		var answer struct {
			Idp struct {
				Name      string
				Directory struct{ ClientID string }
			}
		}
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || answer.Idp.Name != name ||
			answer.Idp.Directory.ClientID != name || !strings.Contains(got.header, "application/json") {
			w.t.Errorf("%q became %s, %v", name, got.body, err)
		}
	}
}

// text writes an answer in the order of its fields' names.
func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}
