package tenancy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"herald/shared/contract"
)

// transition is a request for an object, with its outcome when the object is active, inactive and
// removed: the status and the id of the error, or the state after it.
type transition struct{ request, body, active, inactive, removed string }

// stateful is a kind of object that has states: the field that names it, the object that contains
// it, the request that reads it, and its transitions.
type stateful struct {
	kind, field, in, read, prefix string
	transitions                   []transition
}

// Objects in an inactive project or application can be changed; only tokens do not work.
var projectStates = []stateful{
	{"project", "project_id", "", "GET /management/v1/projects/{project_id}", "PROJECT_STATE_", []transition{
		{"GET /management/v1/projects/{project_id}", "", "200 ACTIVE", "200 INACTIVE", "404 PROJECT_NOT_FOUND"},
		{"PUT /management/v1/projects/{project_id}", `{"name":"{new}","projectRoleCheck":true}`, "200 ACTIVE",
			"200 INACTIVE", "404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/_deactivate", "{}", "200 INACTIVE", "400 PROJECT_NOT_ACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/_reactivate", "{}", "400 PROJECT_NOT_INACTIVE", "200 ACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"DELETE /management/v1/projects/{project_id}", "", "200 gone", "200 gone", "404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/changes/_search", "{}", "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/apps/oidc", `{"name":"{new}"}`, "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/apps/api", `{"name":"{new}"}`, "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/apps/_search", "{}", "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/roles", `{"key":"{new}"}`, "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/roles/_bulk", `{"roles":[{"key":"{new}"}]}`, "200 ACTIVE",
			"200 INACTIVE", "404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/roles/_search", "{}", "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/grants", `{"grantedOrgId":"{third}"}`, "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/grants/_search", "{}", "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/members/_search", "{}", "200 ACTIVE", "200 INACTIVE",
			"404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/members", `{"userId":"{nobody}","roles":["PROJECT_OWNER_VIEWER"]}`,
			"200 ACTIVE", "200 INACTIVE", "404 PROJECT_NOT_FOUND"},
		{"POST /management/v1/users/{nobody}/grants", `{"projectId":"{project_id}"}`, "200 ACTIVE", "200 INACTIVE",
			"400 USER_GRANT_PROJECT_UNKNOWN"},
	}},
	{"oidcApp", "app_id", "project_id", "GET " + anApp, "APP_STATE_", []transition{
		{"GET " + anApp, "", "200 ACTIVE", "200 INACTIVE", "404 APP_NOT_FOUND"},
		{"PUT " + anApp, `{"name":"{new}"}`, "200 ACTIVE", "200 INACTIVE", "404 APP_NOT_FOUND"},
		{"PUT " + anApp + "/oidc_config", `{"devMode":true}`, "200 ACTIVE", "200 INACTIVE", "404 APP_NOT_FOUND"},
		{"PUT " + anApp + "/api_config", `{}`, "400 APP_NOT_API", "400 APP_NOT_API", "404 APP_NOT_FOUND"},
		{"POST " + anApp + "/_deactivate", "{}", "200 INACTIVE", "400 APP_NOT_ACTIVE", "404 APP_NOT_FOUND"},
		{"POST " + anApp + "/_reactivate", "{}", "400 APP_NOT_INACTIVE", "200 ACTIVE", "404 APP_NOT_FOUND"},
		{"DELETE " + anApp, "", "200 gone", "200 gone", "404 APP_NOT_FOUND"},
		{"POST " + anApp + "/oidc_config/_generate_client_secret", "{}", "200 ACTIVE", "200 INACTIVE",
			"404 APP_NOT_FOUND"},
		{"POST " + anApp + "/oidc_config/_generate_client_secret", `{"overlap":"60s"}`, "200 ACTIVE", "200 INACTIVE",
			"404 APP_NOT_FOUND"},
		{"POST " + anApp + "/api_config/_generate_client_secret", "{}", "400 APP_NOT_API", "400 APP_NOT_API",
			"404 APP_NOT_FOUND"},
		{"POST " + anApp + "/keys", `{"publicKey":"{publicKey}"}`, "200 ACTIVE", "200 INACTIVE", "404 APP_NOT_FOUND"},
		{"POST " + anApp + "/keys", `{}`, "200 ACTIVE", "200 INACTIVE", "404 APP_NOT_FOUND"},
		{"POST " + anApp + "/keys/_search", "{}", "200 ACTIVE", "200 INACTIVE", "404 APP_NOT_FOUND"},
		{"GET " + anApp + "/keys/nowhere", "", "404 APP_KEY_NOT_FOUND", "404 APP_KEY_NOT_FOUND",
			"404 APP_KEY_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/apps/api", `{"name":"{name}"}`, "409 APP_NAME_TAKEN",
			"409 APP_NAME_TAKEN", "200 gone"},
	}},
	{"projectGrant", "grant_id", "project_id", "GET " + aGrant, "PROJECT_GRANT_STATE_", []transition{
		{"GET " + aGrant, "", "200 ACTIVE", "200 INACTIVE", "404 PROJECT_GRANT_NOT_FOUND"},
		{"PUT " + aGrant, `{"roleKeys":["{role}"]}`, "200 ACTIVE", "200 INACTIVE", "404 PROJECT_GRANT_NOT_FOUND"},
		{"PUT " + aGrant, `{"roleKeys":["nowhere"]}`, "400 PROJECT_ROLE_UNKNOWN", "400 PROJECT_ROLE_UNKNOWN",
			"404 PROJECT_GRANT_NOT_FOUND"},
		{"POST " + aGrant + "/_deactivate", "{}", "200 INACTIVE", "400 PROJECT_GRANT_NOT_ACTIVE",
			"404 PROJECT_GRANT_NOT_FOUND"},
		{"POST " + aGrant + "/_reactivate", "{}", "400 PROJECT_GRANT_NOT_INACTIVE", "200 ACTIVE",
			"404 PROJECT_GRANT_NOT_FOUND"},
		{"DELETE " + aGrant, "", "200 gone", "200 gone", "404 PROJECT_GRANT_NOT_FOUND"},
		{"POST /management/v1/projects/{project_id}/grants", `{"grantedOrgId":"{third}"}`, "409 PROJECT_GRANT_EXISTS",
			"409 PROJECT_GRANT_EXISTS", "200 gone"},
		{"third POST /management/v1/users/{guest}/grants", `{"projectId":"{project_id}","projectGrantId":"{grant_id}"}`,
			"200 ACTIVE", "400 PROJECT_GRANT_NOT_ACTIVE", "400 USER_GRANT_PROJECT_GRANT_UNKNOWN"},
	}},
}

const (
	anApp  = "/management/v1/projects/{project_id}/apps/{app_id}"
	aGrant = "/management/v1/projects/{project_id}/grants/{grant_id}"
)

// Every transition in every state has the expected outcome and leaves the object in the expected
// state, also in an inactive project.
func TestProjectStates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guest := w.make(site{org: w.third}, "user", nil, "user_id")
	for _, s := range projectStates {
		for _, step := range s.transitions {
			for before, want := range map[string]string{
				"active": step.active, "inactive": step.inactive, "removed": step.removed,
			} {
				for _, inactive := range []bool{false, true} {
					if inactive && s.in == "" {
						continue
					}
					ids := w.arrange(s, before, inactive)
					ids["guest"] = guest
					if got, answer := w.takes(s, step, ids); got != want {
						t.Errorf("%s %s, %s, in an inactive project: %v: it came to %s, want %s: %s", step.request,
							step.body, before, inactive, got, want, answer)
					}
				}
			}
		}
	}
}

// Every method for an object with a state is tested in every state.
func TestProjectStatesNameEveryMethod(t *testing.T) {
	t.Parallel()
	called := map[string]bool{}
	for _, s := range projectStates {
		for _, step := range s.transitions {
			called[step.request] = true
		}
	}
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range methods {
		if m.Internal() {
			continue
		}
		verb, path, _ := contract.Route(m.Rules[0])
		fields := contract.PathFields(path)
		if !strings.HasPrefix(path, "/management/v1/projects/{project_id}") ||
			!slices.Contains([]string{"project_id", "app_id", "grant_id"}, fields[len(fields)-1]) {
			continue
		}
		if found++; !called[verb+" "+path] {
			t.Errorf("%s is called in no state: add %q to projectStates in project_states_test.go, with what it comes "+
				"to on an active, an inactive and a removed object", m.Name(), verb+" "+path)
		}
	}
	if found < 25 {
		t.Errorf("only %d methods were seen", found)
	}
}

// arrange makes an object in a state, and other objects that its transitions need.
func (w *world) arrange(s stateful, state string, inactive bool) map[string]string {
	ids := map[string]string{"nobody": w.make(w.own, "user", nil, "user_id")}
	if s.in != "" {
		ids[s.in] = w.make(w.own, "project", nil, s.in)
		ids["role"] = w.make(w.own, "role", ids, "key")
	}
	ids[s.field] = w.make(w.own, s.kind, ids, s.field)
	ids["name"] = w.named(s.read, ids)
	path := strings.TrimPrefix(w.fill(w.own, ids, s.read), "GET ")
	switch state {
	case "inactive":
		w.must(w.own.org, "POST "+path+"/_deactivate", "{}")
	case "removed":
		w.must(w.own.org, "DELETE "+path, "")
	}
	if inactive {
		w.must(w.own.org, w.fill(w.own, ids, "POST /management/v1/projects/{project_id}/_deactivate"), "{}")
	}
	return ids
}

// takes makes a transition and returns its outcome.
func (w *world) takes(s stateful, step transition, ids map[string]string) (outcome, answer string) {
	org, request := w.own.org, step.request
	if theirs, ok := strings.CutPrefix(request, "third "); ok {
		org, request = w.third, theirs
	}
	body := strings.ReplaceAll(w.fill(w.own, ids, step.body), "{id}", w.unique())
	got := w.send(w.Token, org, w.fill(w.own, ids, request), body)
	return fmt.Sprintf("%d %s", got.status, w.outcome(got, s, ids)), got.body
}

// named returns the name of an object, if it has one.
func (w *world) named(read string, ids map[string]string) string {
	var answer map[string]struct{ Name string }
	_ = json.Unmarshal([]byte(w.send(w.Token, w.own.org, w.fill(w.own, ids, read), "").body), &answer)
	for name := range maps.Values(answer) {
		return name.Name
	}
	return ""
}

// outcome returns the id of a refusal, or the object's state after a success.
func (w *world) outcome(got reply, s stateful, ids map[string]string) string {
	var answer struct{ Details []struct{ ID string } }
	if got.status != http.StatusOK {
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || len(answer.Details) == 0 {
			return got.body
		}
		return answer.Details[0].ID
	}
	now := w.send(w.Token, w.own.org, w.fill(w.own, ids, s.read), "")
	var object map[string]struct{ State string }
	if now.status == http.StatusNotFound {
		return "gone"
	}
	if err := json.Unmarshal([]byte(now.body), &object); err != nil {
		return now.body
	}
	for o := range maps.Values(object) {
		return strings.TrimPrefix(o.State, s.prefix)
	}
	return now.body
}
