package tenancy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"herald/shared/contract"
)

// refusedSamples are the faults of examples that the state here, or the token, refuses. Examples of
// methods that need a fresh login are refused to a personal access token.
var refusedSamples = map[string]string{
	"ResendInitialization": "USER_NOT_INITIAL", "ResendEmailVerification": "EMAIL_ALREADY_VERIFIED",
	"ResendMyEmailVerification": "EMAIL_ALREADY_VERIFIED", "VerifyMyEmail": "EMAIL_ALREADY_VERIFIED",
	"VerifyMyOtp": "CODE_WRONG", "RegenerateMyRecoveryCodes": "FRESH_LOGIN_REQUIRED",
	"ReactivateMyOrg": "ORG_NOT_INACTIVE",
}

const wrongSample = "%s\nanswers %s (%v), want %q. If a field lacks a value, add it to examples in " +
	"tools/reference/sample.go; if the state here refuses it, add the fault to refusedSamples"

// The example of every operation works in a shell in which the variables have the token and the ids.
func TestExamplesWorkWhenPasted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.visit("the owner", w.own.org, "ORG_OWNER", "")
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string                    `json:"operationId"`
			Samples     []struct{ Source string } `json:"x-codeSamples"`
		}
	}
	if got := w.send("", "", "GET /openapi.json", ""); json.Unmarshal([]byte(got.body), &document) != nil {
		t.Fatalf("openapi.json: %d", got.status)
	}
	samples := map[string]string{}
	for _, verbs := range document.Paths {
		for _, o := range verbs {
			service, name, _ := strings.Cut(o.OperationID, "_")
			if service == "OAuth" {
				continue // an endpoint, and no method
			}
			samples[name] = o.Samples[0].Source
			if !strings.Contains(samples[name], `"`+w.URL+"/") {
				t.Errorf("%s: the address is %s", samples[name], w.URL)
			}
		}
	}
	settings := curlSettings(t)
	pasted := 0
	paste := func(m contract.Method, sample string) {
		name, token := string(m.Name()), owner.token
		if strings.Contains(verbAndPath(m), " /admin/") || name == "CreateOrg" {
			token = w.Token
		}
		mine := w.own
		mine.caller = owner.id
		ids := w.fresh(mine, m)
		ids["language"] = "de"
		w.prepare(w.own, m, ids)
		ids["granted_org_id"] = w.own.partner
		c := exec.CommandContext(t.Context(), "bash", "-c", sample)
		c.Env = append(os.Environ(), "CURL_HOME="+settings, "TOKEN="+token, "IDP_ID="+ids["id"])
		for field, id := range ids {
			c.Env = append(c.Env, strings.ToUpper(field)+"="+id)
		}
		out, err := c.CombinedOutput()
		want := refusedSamples[name]
		if want == "" && m.Access.FreshLogin && m.Access.Authenticated {
			want = "FRESH_LOGIN_REQUIRED"
		}
		status := string(out[strings.LastIndex(string(out), "\n")+1:])
		if err != nil || want == "" && status != "200" || !strings.Contains(string(out), want) {
			t.Errorf(wrongSample, sample, out, err, want)
		}
		pasted++
	}
	ends := map[string]contract.Method{} // after these the organization can do nothing else
	for _, m := range w.methods() {
		if name := string(m.Name()); name == "DeactivateMyOrg" || name == "RemoveMyOrg" {
			ends[name] = m
			continue
		}
		paste(m, samples[string(m.Name())])
		for n := 2; n <= len(m.Rules); n++ {
			paste(m, samples[fmt.Sprint(m.Name(), n)])
		}
	}
	// An owner does not end the logins of members of the instance, whom the examples have made here.
	_, members := w.Call("POST", "/admin/v1/members/_search", "{}")
	for _, m := range members["result"].([]any) {
		if m := m.(map[string]any); m["userOrgId"] == w.own.org {
			w.must(w.own.org, "DELETE /admin/v1/members/"+m["userId"].(string), "")
		}
	}
	paste(ends["DeactivateMyOrg"], samples["DeactivateMyOrg"])
	w.must(w.own.org, "POST /management/v1/orgs/me/_reactivate", "{}")
	paste(ends["RemoveMyOrg"], samples["RemoveMyOrg"])
	if pasted < 100 || pasted != len(samples) {
		t.Errorf("%d of %d examples were pasted", pasted, len(samples))
	}
}

// curlSettings returns a folder with settings of curl, which then prints the status below the answer.
func curlSettings(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := "silent\nshow-error\nwrite-out = \"\\n%{http_code}\"\n"
	if err := os.WriteFile(dir+"/.curlrc", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
