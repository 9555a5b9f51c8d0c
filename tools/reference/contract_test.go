package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "herald/shared/gen/herald/auth/v1"
	_ "herald/shared/gen/herald/gateway/v1"
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/text/v1"
	_ "herald/shared/gen/herald/users/v1"
)

// image returns the linked contracts as buf would build them, without comments.
func image(t *testing.T) []byte {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
		return true
	})
	data, err := proto.Marshal(&set)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func documents(t *testing.T) map[string]any {
	t.Helper()
	c, err := Read(image(t))
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]any{}
	for name, document := range map[string]func() ([]byte, error){"api": c.OpenAPI, "events": c.AsyncAPI} {
		first, err := document()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := document(); err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s differs the second time: %v", name, err)
		}
		var v any
		if err := json.Unmarshal(first, &v); err != nil {
			t.Fatal(err)
		}
		made[name] = v
	}
	return made
}

// at returns the value under these names as JSON, or "" if there is none.
func at(v any, path string) string {
	for name := range strings.SplitSeq(path, " ") {
		switch inner := v.(type) {
		case map[string]any:
			v = inner[name]
		case []any:
			v = inner[int(name[0]-'0')]
		default:
			return ""
		}
	}
	if v == nil {
		return ""
	}
	text, err := marshal(v, "")
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

const (
	schema   = "api components schemas "
	imported = "api paths /management/v1/users/human/_import post "
	listed   = "api paths /management/v1/users/{userId}/notifications get "
	text     = "api paths /management/v1/text/message/{kind}/{language} put "
)

// The documents contain the comments of the contracts.
func TestDocuments(t *testing.T) {
	t.Parallel()
	made := documents(t)
	for _, c := range []struct{ path, want string }{
		{imported + "operationId", `"Imports_ImportHumanUser"`},
		{imported + "x-permission", `"user.import"`},
		{imported + "security", `[{"bearer":["openid","urn:service:iam:org:project:id:service:aud"]},` +
			`{"oauth2":["openid","urn:service:iam:org:project:id:service:aud"]}]`},
		{imported + "tags", `["Imports"]`},
		{imported + "responses 409", `{"$ref":"#/components/responses/Exists"}`},
		{imported + "responses default", `{"$ref":"#/components/responses/Failed"}`},
		{imported + "requestBody content application/grpc-web+proto schema",
			`{"$ref":"#/components/schemas/users.ImportHumanUserRequest"}`},
		{imported + "requestBody content application/grpc schema",
			`{"$ref":"#/components/schemas/users.ImportHumanUserRequest"}`},
		{imported + "responses 200 content application/grpc-web+proto schema",
			`{"$ref":"#/components/schemas/users.ImportHumanUserResponse"}`},
		{imported + "responses 200 content application/grpc schema",
			`{"$ref":"#/components/schemas/users.ImportHumanUserResponse"}`},
		{"api components responses Invalid content application/grpc schema", `{"$ref":"#/components/schemas/Error"}`},
		{"api components securitySchemes oauth2 flows authorizationCode tokenUrl",
			`"http://localhost:8080/oauth/v2/token"`},
		{"api components securitySchemes oauth2 flows authorizationCode authorizationUrl",
			`"http://localhost:8080/oauth/v2/authorize"`},
		{imported + "parameters", `[{"$ref":"#/components/parameters/Organization"}]`},
		{listed + "parameters 0", `{"in":"path","name":"userId","required":true,"schema":{"type":"string"}}`},
		{listed + "parameters 2", `{"in":"query","name":"query.limit","schema":{"format":"int64","type":["string",` +
			`"integer"]}}`},
		{listed + "requestBody", ""},
		{listed + "x-faults 403", `["INSUFFICIENT_SCOPE","ORIGIN_NOT_ALLOWED","PERMISSION_DENIED"]`},
		{listed + "x-faults 409", ""},
		{listed + "responses 409", ""},
		{text + "requestBody content application/json schema",
			`{"$ref":"#/components/schemas/text.SetMessageTextBody"}`},
		{schema + "text.SetMessageTextBody properties kind", ""},
		{schema + "text.SetMessageTextBody properties title", `{"description":"At most 2000 bytes.","type":"string"}`},
		{"api paths /management/v1/users/_is_unique get parameters 0 required", "true"},
		{"api paths /auth/v1/users/me get security", `[{"bearer":["openid"]},{"oauth2":["openid"]}]`},
		{"api paths /auth/v1/users/me/pats/_search post security", `[{"bearer":["openid"]},{"oauth2":["openid"]}]`},
		{"api paths /management/v1/users/human post requestBody required", "true"},
		{"api paths /management/v1/orgs/me/_deactivate post requestBody required", "false"},
		{schema + "users.Profile required", `["firstName","lastName"]`},
		{schema + "users.Profile properties firstName", `{"description":"White space around it is dropped; ` +
			`control characters and invisible ones are refused.","maxLength":200,"minLength":1,"type":"string"}`},
		{schema + "users.CreateHumanUserRequest required", `["userName","profile","email"]`},
		{schema + "users.Phone required", `["phone"]`},
		{schema + "users.Metadata properties value", `{"contentEncoding":"base64","description":"At most 65536 ` +
			`bytes.","type":"string"}`},
		{schema + "users.HashedPassword properties value format", `"password"`},
		{schema + "users.HashedPassword properties value writeOnly", "true"},
		{schema + "users.AddPersonalAccessTokenResponse properties token", `{"type":"string"}`},
		{schema + "users.UserState enum 4", `"USER_STATE_INITIAL"`},
		{schema + "users.UserStateQuery", `{"properties":{"state":` +
			`{"allOf":[{"$ref":"#/components/schemas/users.UserState"}],` +
			`"description":"Not USER_STATE_UNSPECIFIED."}},` +
			`"required":["state"],"type":"object"}`},
		{schema + "users.AddMemberRequest properties roles", `{"items":{"type":"string"},"maxItems":20,` +
			`"minItems":1,"type":"array","uniqueItems":true}`},
		{schema + "users.User required", `["id","state","userName","loginNames","preferredLoginName"]`},
		{schema + "ObjectDetails properties sequence", `{"format":"uint64","type":"string"}`},
		{schema + "ObjectDetails properties creationDate", `{"format":"date-time","type":"string"}`},
		{schema + "users.ImportHumanUserRequest properties dataOrgs", `{}`},
		{schema + "users.ResolveTokenRequest", ""},
		{schema + "ErrorDetail allOf 0 properties @type", `{"const":"type.googleapis.com/herald.v1.ErrorDetail"}`},
		{"api paths /herald.users.v1.Internal/ResolveToken", ""},
		{"events channels users.human.imported address", `"events.users.human.imported.{orgId}"`},
		{"events components messages users.human.imported name", `"herald.users.human.imported.v1"`},
		{"events components messages users.human.imported payload",
			`{"$ref":"#/components/schemas/users.HumanImported"}`},
		{"events components messages users.human.imported headers allOf 1 properties ce-source const",
			`"/herald/users"`},
		{"events components schemas users.HumanImported required", ""},
		{"events operations publish.users.human.imported action", `"send"`},
	} {
		if got := at(made, c.path); got != c.want {
			t.Errorf("%s is %s, want %s", c.path, got, c.want)
		}
	}
}

// Every reference has a target, and every operation a unique id.
func TestReferences(t *testing.T) {
	t.Parallel()
	for name, document := range documents(t) {
		ids := map[string]bool{}
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, inner := range v {
					walk(inner)
				}
			case map[string]any:
				if to, ok := v["$ref"].(string); ok &&
					at(document, strings.ReplaceAll(strings.TrimPrefix(to, "#/"), "/", " ")) == "" {
					t.Errorf("%s: nothing is at %s", name, to)
				}
				if id, ok := v["operationId"].(string); ok {
					if ids[id] {
						t.Errorf("%s is there twice", id)
					}
					ids[id] = true
				}
				for _, inner := range v {
					walk(inner)
				}
			}
		}
		walk(document)
		if name == "api" && len(ids) < 50 {
			t.Errorf("only %d operations", len(ids))
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for comment, want := range map[string][2]string{
		"":                                  {"", ""},
		"Reads a user.":                     {"Reads a user", ""},
		"Ends it. For good. Twice is fine.": {"Ends it", "For good. Twice is fine."},
		"Reads www.example.com":             {"Reads www.example.com", ""},
	} {
		t.Run(comment, func(t *testing.T) {
			if first, rest := summary(comment); first != want[0] || rest != want[1] {
				t.Errorf("%q and %q", first, rest)
			}
		})
	}
}

// Faults reads from the contracts what a fault says.
func TestFaults(t *testing.T) {
	t.Parallel()
	found := map[string]string{}
	for _, f := range Faults(protoregistry.GlobalFiles) {
		found[f.ID] = fmt.Sprintln(f.HTTPStatus(), f.Code, f.Message, f.Owner)
	}
	for id, want := range map[string]string{
		"INTERNAL":       "500 13 Internal error; the request id finds it in the log shared\n",
		"USER_NOT_FOUND": "404 5 User not found users\n",
		"BODY_TOO_LARGE": "413 3 The body is larger than allowed gateway\n",
	} {
		t.Run(id, func(t *testing.T) {
			if found[id] != want {
				t.Errorf("%q, want %q", found[id], want)
			}
		})
	}
	if _, ok := found["FAULT_UNSPECIFIED"]; ok {
		t.Error("the zero value is a fault")
	}
}

// Every fault of the contracts is in the published list.
func TestListOfFaults(t *testing.T) {
	t.Parallel()
	const root = "../.."
	faults := Faults(protoregistry.GlobalFiles)
	list, err := os.ReadFile(root + "/docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if !strings.Contains(string(list), "`"+f.ID+"`") {
			t.Errorf("docs/errors.md lacks %s: run `make generate`", f.ID)
		}
	}
	if len(faults) < 40 {
		t.Errorf("only %d ids were seen", len(faults))
	}
}

// Comments in the contracts name only faults that exist.
func TestCommentsNameFaults(t *testing.T) {
	t.Parallel()
	const root = "../.."
	list, err := os.ReadFile(root + "/docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	contracts, err := filepath.Glob(root + "/shared/proto/herald/*/v1/*.proto")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`[A-Z]+(_[A-Z]+)+`")
	seen := 0
	for _, name := range contracts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range named.FindAllString(string(text), -1) {
			seen++
			if !strings.Contains(string(list), id) {
				t.Errorf("%s names the fault %s, which does not exist", filepath.Base(name), id)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d ids were seen", seen)
	}
}
