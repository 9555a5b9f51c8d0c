package faults_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// A caller who loses the role in the middle of a bulk import keeps what was imported until then. The rest is refused
// row by row, and the same file can be sent again with a role.
func TestRoleLostUnderBulkImport(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	i.Must("POST", "/management/v1/users/human/_import", whole.Active("owner"))
	token := i.Must("POST", "/management/v1/users/owner/pats", "{}")["token"].(string)
	i.Org = i.Must("POST", "/management/v1/orgs", `{"name":"Half"}`)["id"].(string)
	i.Must("POST", "/management/v1/orgs/me/members", `{"userId":"owner","roles":["ORG_OWNER"]}`)
	c := newCrowd(i.Org, 4000)
	c.body = strings.Replace(c.body, fmt.Sprintf(`"org":{"name":%q},`, i.Org), "", 1)
	cut := strings.Index(c.body, fmt.Sprintf(`{"userId":"%s-02500"`, i.Org))
	from, to := io.Pipe()
	go func() {
		_, _ = io.WriteString(to, c.body[:cut])
		answersWith(i, "/management/v1/users/"+i.Org+"-01999", i.Token, http.StatusOK)
		if status, answer, err := i.Try("DELETE", "/management/v1/orgs/me/members/owner", ""); status != http.StatusOK {
			t.Errorf("%d %v %v", status, answer, err)
		}
		answersWith(i, "/management/v1/orgs/me", token, http.StatusForbidden)
		_, _ = io.WriteString(to, c.body[cut:])
		_ = to.Close()
	}()
	r, err := http.NewRequest(http.MethodPost, i.URL+"/admin/v1/import", from)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	var answer struct {
		Success struct {
			Orgs []struct{ HumanUserIDs []string }
		}
		Errors []struct{ Type, ID, Reason string }
	}
	if err := json.NewDecoder(w.Body).Decode(&answer); err != nil || w.StatusCode != http.StatusOK ||
		len(answer.Success.Orgs) != 1 {
		t.Fatalf("%s, %v, %v", w.Status, answer, err)
	}
	told := map[string]bool{}
	for _, id := range answer.Success.Orgs[0].HumanUserIDs {
		told[id] = true
	}
	if len(told) != 2000 || len(answer.Errors) != 2000 {
		t.Errorf("%d users imported, %d refused", len(told), len(answer.Errors))
	}
	for _, e := range answer.Errors {
		if told[e.ID] || !c.ids[e.ID] || e.Type != "human_user" || e.Reason != "PERMISSION_DENIED" {
			t.Fatalf("%v", e)
		}
		told[e.ID] = true
	}
	found := i.Must("POST", "/management/v1/users/_search", `{"query":{"limit":1}}`)
	if n := found["details"].(map[string]any)["totalResult"]; n != "2000" {
		t.Errorf("%v users are there", n)
	}
	c.everybody(t, i.Must("POST", "/admin/v1/import", c.body))
}

// answersWith waits until a GET with a token is answered with a status.
func answersWith(i *whole.Instance, path, token string, status int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); <-tick.C {
		other := *i
		other.Token = token
		if got, _, err := other.Try("GET", path, ""); err == nil && got == status {
			return
		}
	}
	i.T.Errorf("GET %s is not answered with %d", path, status)
}
