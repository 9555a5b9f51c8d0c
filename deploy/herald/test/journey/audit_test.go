package journey_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// auditor reads the events of an instance.
type auditor struct {
	*whole.Instance
	path string
}

// find returns the events that a search finds, each on a line.
func (a auditor) find(body string) (lines []string, events []map[string]any) {
	a.T.Helper()
	for _, e := range a.Must("POST", a.path, body)["result"].([]any) {
		event := e.(map[string]any)
		aggregate, editor := event["aggregate"].(map[string]any), event["editor"].(map[string]any)
		lines = append(lines, fmt.Sprintf("%v %q by %v%v", event["type"], aggregate["name"], editor["displayName"],
			editor["service"]))
		events = append(events, event)
	}
	return lines, events
}

// What people did in several services is in one list, with their names, and only for those who may see it.
func TestEventsOfAllServicesAreSearched(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	of, all := auditor{i, "/management/v1/events/_search"}, auditor{i, "/admin/v1/events/_search"}
	project := i.Must("POST", "/management/v1/projects", `{"name":"Ledger"}`)["id"].(string)
	i.Must("PUT", "/management/v1/orgs/me/branding", `{"primaryColor":"#2f56d9"}`)
	i.Import("ada")
	i.Must("PUT", "/management/v1/projects/"+project, `{"name":"Accounts"}`)
	lines, events := of.find(`{"limit":4}`)
	want := []string{
		`project.changed "Accounts" by Herald Administrator`, `human.imported "Mini Mouse" by Herald Administrator`,
		`branding.changed "" by Herald Administrator`, `project.created "Accounts" by Herald Administrator`,
	}
	if !slices.Equal(lines, want) {
		t.Fatalf("%q\nwant\n%q", lines, want)
	}
	if fields := fmt.Sprint(events[0]["fields"]); fields != "[map[name:name]]" {
		t.Errorf("the changed fields are %s", fields)
	}

	// The request is the one whose answer had the id, and a page begins after the one before it.
	request := events[1]["requestId"].(string)
	if lines, _ := of.find(fmt.Sprintf(`{"requestId":%q}`, request)); !slices.Equal(lines, want[1:2]) {
		t.Errorf("of one request: %q", lines)
	}
	after := events[1]["position"].(string)
	if lines, _ := of.find(fmt.Sprintf(`{"limit":2,"after":%q}`, after)); !slices.Equal(lines, want[2:]) {
		t.Errorf("after %s: %q", after, lines)
	}
	body := fmt.Sprintf(`{"aggregateId":%q,"aggregateTypes":["project"],"asc":true}`, project)
	if lines, _ := of.find(body); !slices.Equal(lines, []string{want[3], want[0]}) {
		t.Errorf("of the project: %q", lines)
	}
	if status, answer := i.Call("POST", of.path, `{"after":"42"}`); status != http.StatusBadRequest {
		t.Errorf("a wrong position answers %d %v", status, answer)
	}

	// Who may not read users sees no names of them.
	lesser := *i
	machine := i.Must("POST", "/management/v1/users/machine", `{"userName":"creator","name":"Creator"}`)
	creator := machine["userId"].(string)
	i.Must("POST", "/management/v1/orgs/me/members",
		fmt.Sprintf(`{"userId":%q,"roles":["ORG_PROJECT_CREATOR"]}`, creator))
	lesser.Token = i.Must("POST", "/management/v1/users/"+creator+"/pats", `{}`)["token"].(string)
	lines, _ = auditor{&lesser, of.path}.find(fmt.Sprintf(`{"limit":2,"after":%q}`, events[0]["position"]))
	if !slices.Equal(lines, []string{`human.imported "" by `, `branding.changed "" by `}) {
		t.Errorf("with org.read alone: %q", lines)
	}

	// Another organization is another list, and the instance has both.
	other := i.Must("POST", "/management/v1/orgs", `{"name":"Other"}`)["id"].(string)
	if lines, _ := of.find(fmt.Sprintf(`{"resourceOwner":%q}`, other)); lines != nil {
		t.Errorf("the first organization sees of the other: %q", lines)
	}
	if lines, _ := all.find(fmt.Sprintf(`{"resourceOwner":%q,"eventTypes":["org.created"]}`, other)); !slices.Equal(
		lines, []string{`org.created "Other" by Herald Administrator`}) {
		t.Errorf("the instance sees of the other: %q", lines)
	}
}

// What several services know of is in one list of what expires soon.
func TestExpirationsOfAllServices(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	i.Must("POST", "/management/v1/users/human", `{"userName":"ada","profile":{"firstName":"Ada","lastName":"Lovelace"},
		"email":{"email":"ada@example.com"}}`)
	i.Mail("ada@example.com") // an invitation lasts from its first sending
	machine := i.Must("POST", "/management/v1/users/machine", `{"userName":"robot","name":"Robot"}`)["userId"].(string)
	at := func(days int) string { return time.Now().AddDate(0, 0, days).UTC().Format(time.RFC3339) }
	i.Must("POST", "/management/v1/users/"+machine+"/keys",
		fmt.Sprintf(`{"type":"KEY_TYPE_JSON","expirationDate":%q}`, at(20)))
	i.Must("POST", "/management/v1/idps/directory", fmt.Sprintf(`{"name":"Company","clientId":"c","clientSecret":"s",
		"clientSecretExpiration":%q}`, at(10)))
	for _, path := range []string{"/management/v1/expirations", "/admin/v1/expirations?within=30d"} {
		var lines []string
		for _, e := range i.Must("GET", path, "")["result"].([]any) {
			one := e.(map[string]any)
			lines = append(lines, fmt.Sprintf("%s %s", strings.TrimPrefix(one["kind"].(string), "EXPIRATION_KIND_"),
				one["name"]))
		}
		want := []string{"INVITATION Ada Lovelace", "PROVIDER_SECRET Company", "MACHINE_KEY Robot"}
		if !slices.Equal(lines, want) {
			t.Errorf("%s: %q", path, lines)
		}
	}
}
