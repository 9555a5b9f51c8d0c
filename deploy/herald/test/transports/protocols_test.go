package transports_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"herald/deploy/herald/test/whole"
	"herald/shared/fault"
)

const projectsService = "herald.projects.v1.Projects"

// reflection is a client of gRPC reflection, as tools without contracts use it.
type reflection struct {
	t      *testing.T
	stream grpc.ClientStream
}

// reflect opens a reflection stream, without a token. The messages of v1alpha are those of v1.
func reflectionOf(i *whole.Instance, t *testing.T, version string) reflection {
	t.Helper()
	both := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err := i.Dial(t).NewStream(t.Context(), both, "/grpc.reflection."+version+
		".ServerReflection/ServerReflectionInfo")
	if err != nil {
		t.Fatal(err)
	}
	return reflection{t, stream}
}

func (r reflection) ask(question *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
	r.t.Helper()
	answer := &reflectionpb.ServerReflectionResponse{}
	if err := errors.Join(r.stream.SendMsg(question), r.stream.RecvMsg(answer)); err != nil {
		r.t.Fatal(err)
	}
	if e := answer.GetErrorResponse(); e != nil {
		r.t.Fatalf("%v: %v", question, e)
	}
	return answer
}

func (r reflection) services() (names []string) {
	r.t.Helper()
	answer := r.ask(
		&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	for _, s := range answer.GetListServicesResponse().Service {
		names = append(names, s.Name)
	}
	return names
}

// service fetches the files that describe a service and makes its descriptor from these files alone.
func (r reflection) service(name string) protoreflect.ServiceDescriptor {
	r.t.Helper()
	files := map[string]*descriptorpb.FileDescriptorProto{}
	r.collect(files,
		&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
		})
	all := &descriptorpb.FileDescriptorSet{}
	for _, f := range files {
		all.File = append(all.File, f)
	}
	set, err := protodesc.NewFiles(all)
	if err != nil {
		r.t.Fatal(err)
	}
	d, err := set.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return d.(protoreflect.ServiceDescriptor)
}

func (r reflection) collect(
	files map[string]*descriptorpb.FileDescriptorProto, question *reflectionpb.ServerReflectionRequest,
) {
	r.t.Helper()
	var needed []string
	for _, data := range r.ask(question).GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(data, f); err != nil {
			r.t.Fatal(err)
		}
		files[f.GetName()] = f
		needed = append(needed, f.Dependency...)
	}
	for _, name := range needed {
		if files[name] == nil {
			r.collect(files,
				&reflectionpb.ServerReflectionRequest{
					MessageRequest: &reflectionpb.ServerReflectionRequest_FileByFilename{FileByFilename: name},
				})
		}
	}
}

// meaning returns a message as JSON, without members that differ from call to call.
func meaning(t *testing.T, m proto.Message, varying ...string) string {
	t.Helper()
	if m == nil {
		return ""
	}
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	for _, name := range varying {
		at := v
		path := strings.Split(name, ".")
		for _, outer := range path[:len(path)-1] {
			at, _ = at[outer].(map[string]any)
		}
		name = path[len(path)-1]
		if at[name] == nil || at[name] == "" || at[name] == "0" {
			t.Errorf("no %s in %s", name, text)
		}
		delete(at, name)
	}
	text, _ = json.Marshal(v) // in the order of the names
	return string(text)
}

// Every method can be called with the descriptors of gRPC reflection alone.
func TestReflection(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	for _, name := range []string{"Äpfel", "Birnen"} {
		project(i, name)
	}
	for _, version := range []string{"v1", "v1alpha"} {
		r := reflectionOf(i, t, version)
		services := r.services()
		for _, want := range []string{projectsService, "herald.users.v1.Users", "herald.users.v1.Orgs",
			"herald.text.v1.Text",
			"herald.notification.v1.Notifications", "herald.idp.v1.Idps", "grpc.health.v1.Health"} {
			if !slices.Contains(services, want) {
				t.Errorf("%s: no %s among %v", version, want, services)
			}
		}
		for _, name := range services { // every listed service has a description
			if r.service(name).Methods().Len() == 0 {
				t.Errorf("%s: %s has no methods", version, name)
			}
		}
		ask := whole.Request{Method: r.service(projectsService).Methods().ByName("SearchProjects"),
			Path: "POST /management/v1/projects/_search",
			JSON: `{"query":{"asc":true},"queries":[{"nameQuery":{"name":"äPF",` +
				`"method":"TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE"}}]}`, Token: i.Token}
		got, refused := i.GRPC(t, ask)
		if refused.Code != 0 {
			t.Fatal(refused)
		}
		status, rest := i.Call("POST", "/management/v1/projects/_search", ask.JSON)
		delete(rest["details"].(map[string]any), "viewTimestamp")
		want, _ := json.Marshal(rest)
		if a := meaning(t, got, "details.viewTimestamp"); status != http.StatusOK || a != string(want) ||
			!strings.Contains(a, `"name":"Äpfel"`) {
			t.Errorf("%s: %s, REST %s", version, a, want)
		}
	}
}

// project creates a project over REST and returns its id.
func project(i *whole.Instance, name string) string {
	i.T.Helper()
	status, answer := i.Call("POST", "/management/v1/projects", fmt.Sprintf(`{"name":%q}`, name))
	if status != http.StatusOK {
		i.T.Fatalf("%s: %d %v", name, status, answer)
	}
	return answer["id"].(string)
}

// visitor imports a person without roles and returns a token of hers.
func visitor(i *whole.Instance) string {
	i.T.Helper()
	status, answer := i.Call("POST", "/management/v1/users/human/_import", `{"userId":"visitor",`+
		`"userName":"visitor","profile":{"firstName":"Vi","lastName":"Sitor"},"email":{"email":"vi@example.com",`+
		`"isEmailVerified":true},"password":"correct horse battery"}`)
	if status != http.StatusOK {
		i.T.Fatalf("%d %v", status, answer)
	}
	status, answer = i.Call("POST", "/management/v1/users/visitor/pats", `{}`)
	if status != http.StatusOK {
		i.T.Fatalf("%d %v", status, answer)
	}
	return answer["token"].(string)
}

// A request has the same answer or refusal over every protocol.
func TestProtocolsAnswerAlike(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	id, visitor := project(i, "Äpfel"), visitor(i)
	const create, search = "POST /management/v1/projects", "POST /management/v1/projects/_search"
	methods := reflectionOf(i, t, "v1").service(projectsService).Methods()
	for _, c := range []struct {
		method, path, json, token string
		fault                     fault.Fault
		varying                   []string
		says                      string
	}{
		{method: "CreateProject", path: create, json: `{"name":"Made over %s","projectRoleCheck":true}`,
			varying: []string{"id", "details.sequence", "details.creationDate", "details.changeDate"},
			says:    `{"details":{"resourceOwner":`},
		{method: "SearchProjects", path: search, json: `{"query":{"limit":"3","asc":true},"queries":[` +
			`{"nameQuery":{"name":"made","method":"TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE"}}]}`,
			varying: []string{"details.viewTimestamp"}, says: `"totalResult":"5"`},
		{method: "GetProject", path: "GET /management/v1/projects/" + id, json: `{"projectId":"` + id + `"}`,
			says: `"name":"Äpfel"`},
		{method: "SearchProjects", path: search, token: visitor, json: `{}`, varying: []string{"details.viewTimestamp"},
			says: `"totalResult":"0"`},
		{method: "GetProject", path: "GET /management/v1/projects/a%2Fb", json: `{"projectId":"a/b"}`,
			fault: fault.Fault{Code: fault.NotFound, ID: "PROJECT_NOT_FOUND"}},
		{method: "CreateProject", path: create, json: `{"name":" Äpfel "}`, fault: fault.Fault{
			Code: fault.Exists, ID: "PROJECT_NAME_TAKEN", Fields: []fault.Field{{Path: "name"}},
		}},
		{method: "CreateProject", path: create, json: `{"name":" "}`, fault: fault.Fault{
			Code: fault.Invalid, ID: "INVALID_ARGUMENT", Fields: []fault.Field{{Path: "name"}},
		}},
		{method: "SearchProjects", path: search, json: `{"queries":[{},{"nameQuery":{"name":"` +
			strings.Repeat("ü", 201) + `"}}]}`, fault: fault.Fault{Code: fault.Invalid, ID: "INVALID_ARGUMENT",
			Fields: []fault.Field{{Path: "queries[0]"}, {Path: "queries[1].nameQuery.name"}}}},
		{method: "SearchProjects", path: search, json: `{"query":{"limit":"1001"}}`, fault: fault.Fault{
			Code: fault.Invalid, ID: "LIMIT_EXCEEDED", Fields: []fault.Field{{Path: "query.limit"}},
		}},
		{method: "CreateProject", path: create, token: visitor, json: `{"name":"x"}`,
			fault: fault.Fault{Code: fault.Denied, ID: "PERMISSION_DENIED", Permission: "project.create"}},
		{method: "GetProject", path: "GET /management/v1/projects/" + id, token: visitor, json: `{"projectId":"` + id +
			`"}`, fault: fault.Fault{Code: fault.Denied, ID: "PERMISSION_DENIED", Permission: "project.read"}},
		{method: "SearchProjects", path: search, token: "hrld_x", json: `{}`, fault: fault.Fault{
			Code: fault.Unauthenticated, ID: "UNAUTHENTICATED",
		}},
	} {
		var first string
		var refused *statuspb.Status
		for n, p := range i.Protocols() {
			r := whole.Request{
				Method: methods.ByName(protoreflect.Name(c.method)), Path: c.path,
				JSON: strings.Replace(c.json, "%s", p.Name, 1), Token: c.token,
			}
			if r.Token == "" {
				r.Token = i.Token
			}
			m, s := p.Call(t, r)
			got := meaning(t, m, c.varying...)
			if n == 0 {
				first, refused = got, s
			}
			if got != first || !proto.Equal(s, refused) {
				t.Errorf("%s %s over %s: %s %v, REST %s %v", c.method, c.json, p.Name, got, s, first, refused)
			}
		}
		if c.says != "" {
			if refused.Code != 0 || !strings.Contains(first, c.says) {
				t.Errorf("%s %s: %s %v, want %s", c.method, c.json, first, refused, c.says)
			}
			continue
		}
		if f := fault.FromStatus(refused); f.Code != c.fault.Code || f.ID != c.fault.ID ||
			f.Permission != c.fault.Permission || !slices.Equal(paths(f), paths(&c.fault)) {
			t.Errorf("%s %s: %v, want %+v", c.method, c.json, refused, c.fault)
		}
	}
}

func paths(f *fault.Fault) (all []string) {
	for _, field := range f.Fields {
		all = append(all, field.Path)
	}
	return all
}
