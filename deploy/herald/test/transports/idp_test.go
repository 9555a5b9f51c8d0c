package transports_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"herald/deploy/herald/test/whole"
	"herald/shared/fault"
	idpv1 "herald/shared/gen/herald/idp/v1"
)

// updates are bodies of an update of a provider whose fields all have values, and what the read shows then, as a JSON
// merge patch of what a new provider with the same names would show.
var updates = []struct{ body, shown string }{
	{``, `{}`},
	{`{}`, `{}`},
	{`{"name":null,"clientId":null,"clientSecret":null,"tenant":null,"scopes":null,"providerOptions":null}`, `{}`},
	{`{"clientSecret":"","scopes":[],"providerOptions":{},"tenant":{}}`, `{}`},
	{`{"name":" Other "}`, `{"name":"Other"}`},
	{`{"name":"` + strings.Repeat("ü", 200) + `"}`, `{"name":"` + strings.Repeat("ü", 200) + `"}`},
	{`{"client_id":"other"}`, `{"directory":{"clientId":"other"}}`},
	{`{"clientSecret":"other"}`, `{}`},
	{`{"emailVerified":true}`, `{"directory":{"emailVerified":true}}`},
	{`{"scopes":["openid","User.Read"]}`, `{"directory":{"scopes":["openid","User.Read"]}}`},
	{`{"tenant":{"tenantType":"DIRECTORY_TENANT_TYPE_ORGANISATIONS"}}`,
		`{"directory":{"tenant":{"tenantType":"DIRECTORY_TENANT_TYPE_ORGANISATIONS"}}}`},
	{`{"tenant":{"tenantType":2}}`, `{"directory":{"tenant":{"tenantType":"DIRECTORY_TENANT_TYPE_CONSUMERS"}}}`},
	{`{"tenant":{"tenantType":"DIRECTORY_TENANT_TYPE_CONSUMERS","tenantId":"example.com"}}`,
		`{"directory":{"tenant":{"tenantType":null,"tenantId":"example.com"}}}`},
	{`{"tenant":{"tenant_id":"72F988BF-86F1-41AF-91AB-2D7CD011DB47"}}`,
		`{"directory":{"tenant":{"tenantType":null,"tenantId":"72f988bf-86f1-41af-91ab-2d7cd011db47"}}}`},
	{`{"tenant":{"tenantId":"organizations"}}`,
		`{"directory":{"tenant":{"tenantType":"DIRECTORY_TENANT_TYPE_ORGANISATIONS"}}}`},
	{`{"providerOptions":{"isLinkingAllowed":true,"is_auto_update":true}}`,
		`{"providerOptions":{"isLinkingAllowed":true,"isAutoUpdate":true}}`},
}

const newIdp = `{"name":"Company","clientId":"herald","clientSecret":"secret","tenant":{"tenantId":"old.example"},
	"emailVerified":true,"scopes":["api"],"providerOptions":{"isLinkingAllowed":true,"isCreationAllowed":true,
	"isAutoCreation":true,"isAutoUpdate":true}}`

// shownIdp is that provider after an empty update.
const shownIdp = `{"state":"IDP_STATE_INACTIVE","name":"Company","type":"IDP_TYPE_DIRECTORY","directory":{
	"clientId":"herald","tenant":{"tenantType":"DIRECTORY_TENANT_TYPE_COMMON"},"emailVerified":false,
	"scopes":["openid","profile","email"]},"providerOptions":{"isLinkingAllowed":false,"isCreationAllowed":false,
	"isAutoCreation":false,"isAutoUpdate":false}}`

// What an update keeps, replaces and sets to its default.
func TestIdpUpdates(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	for _, c := range updates {
		id := makeIdp(t, i)
		code, answer := i.Call("PUT", "/management/v1/idps/directory/"+id, c.body)
		details, _ := answer["details"].(map[string]any)
		if code != http.StatusOK || details["sequence"] == nil || details["creationDate"] != nil || len(answer) != 1 {
			t.Errorf("%s answered %d %v", c.body, code, answer)
		}
		_, read := i.Call("GET", "/management/v1/idps/"+id, "")
		shown, _ := read["idp"].(map[string]any)
		if is, _ := shown["details"].(map[string]any); is["sequence"] != details["sequence"] ||
			is["changeDate"] != details["changeDate"] {
			t.Errorf("%s answered %v, and the read %v", c.body, details, is)
		}
		if shown["redirectUri"] != i.URL+"/ui/login/externalidp/callback" {
			t.Errorf("redirectUri is %v", shown["redirectUri"])
		}
		for _, name := range []string{"id", "details", "redirectUri"} {
			delete(shown, name)
		}
		var want any
		if err := json.Unmarshal([]byte(patched(t, shownIdp, c.shown)), &want); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(want)
		if b, _ := json.Marshal(shown); string(a) != string(b) {
			t.Errorf("after %s it is\n%s, want\n%s", c.body, b, a)
		}
	}
}

func makeIdp(t *testing.T, i *whole.Instance) string {
	t.Helper()
	status, made := i.Call("POST", "/management/v1/idps/directory", newIdp)
	id, _ := made["id"].(string)
	if status != http.StatusOK || id == "" {
		t.Fatalf("%d %v", status, made)
	}
	return id
}

// idpRefusals are bodies that an update refuses. Where only JSON can say it, or says it in
// other words, gRPC is not asked.
var idpRefusals = []struct {
	body, id, says string
	json           bool
}{
	{`{"name":""}`, "INVALID_ARGUMENT", "name", false},
	{`{"name":" \t "}`, "INVALID_ARGUMENT", "name", false},
	{`{"name":"` + strings.Repeat("x", 201) + `"}`, "INVALID_ARGUMENT", "name", false},
	{`{"name":"a\u200bb"}`, "INVALID_ARGUMENT", "name", false},
	{`{"clientId":""}`, "INVALID_ARGUMENT", "clientId", false},
	{`{"clientId":"a\r\nb"}`, "INVALID_ARGUMENT", "clientId", false},
	{`{"clientSecret":"` + strings.Repeat("x", 201) + `"}`, "INVALID_ARGUMENT", "clientSecret", false},
	{`{"tenant":{"tenantId":""}}`, "IDP_TENANT_INVALID", "tenant.tenantId", false},
	{`{"tenant":{"tenantId":"a..b"}}`, "IDP_TENANT_INVALID", "tenant.tenantId", false},
	{`{"tenant":{"tenantId":"../common"}}`, "IDP_TENANT_INVALID", "tenant.tenantId", false},
	{`{"tenant":{"tenantType":7}}`, "INVALID_ARGUMENT", "tenant.tenantType", true},
	{`{"scopes":["a b"]}`, "INVALID_ARGUMENT", "scopes[0]", false},
	{`{"scopes":["openid",""]}`, "INVALID_ARGUMENT", "scopes[1]", false},
	{`{"scopes":[` + strings.Repeat(`"a",`, 20) + `"a"]}`, "INVALID_ARGUMENT", "scopes", false},
	{`{"tenant":{"tenantType":"COMMON"}}`, "INVALID_ARGUMENT", "tenant.tenantType", true},
	{`{"tenant":"common"}`, "INVALID_ARGUMENT", "tenant: must be an object", true},
	{`{"scopes":"openid"}`, "INVALID_ARGUMENT", "scopes: must be a list", true},
	{`{"emailVerified":"true"}`, "INVALID_ARGUMENT", "emailVerified: must be true or false", true},
	{`{"name":1}`, "INVALID_ARGUMENT", "name: must be a string", true},
	{`{"clientId":"a","client_id":"b"}`, "INVALID_ARGUMENT", "clientId: is given twice", true},
}

// Every refusal of an update is the same over REST and gRPC, and changes nothing.
func TestIdpRefusals(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	id := makeIdp(t, i)
	client := idpv1.NewIdpsClient(i.Dial(t))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+i.Token)
	for _, c := range idpRefusals {
		code, answer := i.Call("PUT", "/management/v1/idps/directory/"+id, c.body)
		text, _ := json.Marshal(answer)
		var rest status.Status
		if err := protojson.Unmarshal(text, &rest); err != nil {
			t.Fatalf("%s answered %s: %v", c.body, text, err)
		}
		if f := fault.FromStatus(&rest); f.ID != c.id || !strings.Contains(f.Message, c.says) ||
			code != http.StatusBadRequest {
			t.Errorf("REST: %s answered %d %s, want %s", c.body, code, text, c.id)
		}
		if c.json {
			continue
		}
		r := &idpv1.UpdateDirectoryIdpRequest{}
		if err := protojson.Unmarshal([]byte(c.body), r); err != nil {
			t.Fatal(err)
		}
		r.Id = id
		_, err := client.UpdateDirectoryIdp(ctx, r)
		if got := grpcstatus.Convert(err).Proto(); !proto.Equal(got, &rest) {
			t.Errorf("gRPC: %s answered %v, REST %v", c.body, got, &rest)
		}
	}
	for _, method := range []string{"PUT /management/v1/idps/directory/%s", "GET /management/v1/idps/%s",
		"DELETE /management/v1/idps/%s", "POST /management/v1/idps/%s/_deactivate"} {
		verb, path, _ := strings.Cut(fmt.Sprintf(method, "nowhere"), " ")
		if code, answer := i.Call(verb, path, ""); code != http.StatusNotFound || answer["code"] != 5.0 {
			t.Errorf("%s %s answered %d %v", verb, path, code, answer)
		}
	}
	_, changes := i.Call("POST", "/management/v1/idps/"+id+"/changes/_search", `{}`)
	if n := len(changes["result"].([]any)); n != 1 {
		t.Errorf("%d events", n)
	}
}
