package contract_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"herald/shared/contract"
	"herald/shared/fault"
	_ "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

func TestContracts(t *testing.T) {
	t.Parallel()
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(methods, func(a, b contract.Method) int {
		return cmp.Compare(a.Procedure(), b.Procedure())
	}) {
		t.Error("not sorted")
	}
	i := slices.IndexFunc(methods, func(m contract.Method) bool {
		return m.Procedure() == "/herald.users.v1.Users/GetUser"
	})
	if i < 0 || methods[i].Subject() != "rpc.herald.users.v1.Users.GetUser" || methods[i].Owner() != "users" ||
		len(methods[i].Rules) != 1 {
		t.Fatalf("GetUser is method %d", i)
	}
	verb, path, body := contract.Route(methods[i].Rules[0])
	if verb != "GET" || path != "/management/v1/users/{user_id}" || body != "" ||
		!slices.Equal(contract.PathFields(path), []string{"user_id"}) {
		t.Errorf("route %s %s %q", verb, path, body)
	}
}

// A method's verb and options determine its time limit and whether a request may be sent again.
func TestRepeats(t *testing.T) {
	t.Parallel()
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range methods {
		got[string(m.Name())] = fmt.Sprintf("%t %t %s", m.Safe(), m.Idempotent(), m.Limit)
	}
	for name, want := range map[string]string{
		"GetUser": "true true 7s", "SearchUsers": "true true 7s", "ResolveToken": "true true 7s",
		"UpdateMyPassword": "false true 7s", "RemoveUser": "false true 7s", "LockUser": "false true 7s",
		"CreateHumanUser": "false false 7s", "CheckCode": "false false 7s", "ImportUsers": "false true 30s",
		"CheckImport": "true true 30s",
	} {
		t.Run(name, func(t *testing.T) {
			if got[name] != want {
				t.Errorf("got %q, want %q", got[name], want)
			}
		})
	}
}

// otpPath is the only path below /auth/v1 at which a token with openid alone may write.
const otpPath = "/auth/v1/users/me/auth_factors/otp"

// rule returns the option for a verb and a path, or nil for none.
func rule(text string) *annotations.HttpRule {
	verb, path, _ := strings.Cut(text, " ")
	switch verb {
	case "GET":
		return &annotations.HttpRule{Pattern: &annotations.HttpRule_Get{Get: path}}
	case "PUT":
		return &annotations.HttpRule{Pattern: &annotations.HttpRule_Put{Put: path}}
	case "POST":
		return &annotations.HttpRule{Pattern: &annotations.HttpRule_Post{Post: path}}
	}
	return nil
}

// A contract without the options that protect a method is refused.
func TestContractFaults(t *testing.T) {
	t.Parallel()
	const get, put, mine, change = "GET /x", "PUT /x", "GET /auth/v1/x", "PUT /auth/v1/x"
	const prepare, verify = "POST " + otpPath, "POST " + otpPath + "/_verify"
	both := []string{contract.OpenID, contract.Audience}
	writes := func(actsOn, nobody string) *heraldv1.Access {
		return &heraldv1.Access{Permission: "user.write", ActsOn: actsOn, ActsOnNobody: nobody}
	}
	needs := func(scopes ...string) *heraldv1.Access { return &heraldv1.Access{Authenticated: true, Scopes: scopes} }
	for name, c := range map[string]struct {
		access *heraldv1.Access
		rule   string
		stream bool
		want   string
	}{
		"good":          {access: &heraldv1.Access{Permission: "user.read"}, rule: get},
		"good project":  {access: &heraldv1.Access{Permission: "project.read", Project: "user_id"}, rule: get},
		"good internal": {access: &heraldv1.Access{Internal: []string{"auth"}}},
		"good public":   {access: &heraldv1.Access{Public: true}, rule: get},
		"none":          {rule: get, want: "exactly one"},
		"empty":         {access: &heraldv1.Access{}, rule: get, want: "exactly one"},
		"two": {access: &heraldv1.Access{Permission: "user.read", Authenticated: true},
			rule: get, want: "exactly one"},
		"public and more":    {access: &heraldv1.Access{Public: true, Internal: []string{"auth"}}, want: "exactly one"},
		"unknown permission": {access: &heraldv1.Access{Permission: "user.raed"}, rule: get, want: `"user.raed"`},
		"unknown project": {access: &heraldv1.Access{Permission: "project.read", Project: "project_id"},
			rule: get, want: `"project_id"`},
		"internal with path": {access: &heraldv1.Access{Internal: []string{"auth"}}, rule: get, want: "no REST path"},
		"no path":            {access: &heraldv1.Access{Authenticated: true}, want: "needs a REST path"},
		"good acts_on":       {access: writes("user_id", ""), rule: put},
		"good reason":        {access: writes("", "it does nothing"), rule: get},
		"no acts_on":         {access: writes("", ""), rule: get, want: `add acts_on: "user_id"`},
		"acts_on twice":      {access: writes("user_id", "why"), rule: get, want: "has one"},
		"unknown acts_on":    {access: writes("userId", ""), rule: get, want: `"userId" is none`},
		"costly for nobody": {
			access: &heraldv1.Access{Permission: "user.write", ActsOnNobody: "why", Costly: true}, rule: get,
			want: "costly",
		},
		"acts_on oneself": {
			access: &heraldv1.Access{Public: true, ActsOn: "user_id"}, rule: get, want: "acts on the caller",
		},
		"good own read":      {access: needs(both[0]), rule: mine},
		"good own write":     {access: needs(both...), rule: change},
		"good preparation":   {access: needs(both[0]), rule: prepare},
		"own write, openid":  {access: needs(both[0]), rule: change, want: "needs both"},
		"verifying, openid":  {access: needs(both[0]), rule: verify, want: "needs both"},
		"own without scopes": {access: needs(), rule: mine, want: `add scopes: "openid"`},
		"unknown scope":      {access: needs("profile"), rule: mine, want: `not "profile"`},
		"too few scopes":     {access: needs(both[0]), rule: get, want: "remove scopes"},
		"good fresh":         {access: &heraldv1.Access{Authenticated: true, FreshLogin: true}, rule: put},
		"fresh for nobody": {
			access: &heraldv1.Access{Permission: "user.read", FreshLogin: true}, rule: get,
			want: "goes with authenticated",
		},
		"good not for apps": {access: &heraldv1.Access{Authenticated: true, NotForApps: true}, rule: put},
		"not for apps, of nobody": {
			access: &heraldv1.Access{Permission: "user.read", NotForApps: true}, rule: put,
			want: "not_for_apps is about callers",
		},
		"good end of a token": {
			access: &heraldv1.Access{Authenticated: true, FreshLogin: true, EndsToken: "user_id"}, rule: put,
		},
		"end of an unknown token": {
			access: &heraldv1.Access{Authenticated: true, FreshLogin: true, EndsToken: "token"}, rule: get,
			want: `"token" is none`,
		},
		"end of a token, always": {
			access: &heraldv1.Access{Authenticated: true, EndsToken: "user_id"}, rule: get, want: "fresh_login",
		},
		"stream": {access: &heraldv1.Access{Authenticated: true}, rule: get, stream: true, want: "streams"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := contract.Methods(with(t, c.access, rule(c.rule), c.stream))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A method that protects nobody by itself can still be refused to applications, if it says whose the change is.
func TestNotForAppsOfMembers(t *testing.T) {
	t.Parallel()
	put := &annotations.HttpRule{Pattern: &annotations.HttpRule_Put{Put: "/x"}}
	access := &heraldv1.Access{Permission: "user.write", ActsOnNobody: "why", NotForApps: true}
	if _, err := contract.Methods(with(t, access, put, false)); err != nil {
		t.Error(err)
	}
}

// A method that changes nothing needs an option for this, and it acts on nobody.
func TestSafeContractFaults(t *testing.T) {
	t.Parallel()
	get := &annotations.HttpRule{Pattern: &annotations.HttpRule_Get{Get: "/x"}}
	search := &annotations.HttpRule{Pattern: &annotations.HttpRule_Post{Post: "/x/_search"}}
	for _, c := range []struct {
		access *heraldv1.Access
		rule   *annotations.HttpRule
		want   string
	}{
		{&heraldv1.Access{Permission: "user.write", ActsOn: "user_id"}, get, "without side effects"},
		{&heraldv1.Access{Authenticated: true, FreshLogin: true}, get, "without side effects"},
		{&heraldv1.Access{Authenticated: true, NotForApps: true}, get, "not_for_apps"},
		{&heraldv1.Access{Permission: "user.read"}, search, "NO_SIDE_EFFECTS"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, err := contract.Methods(with(t, c.access, c.rule, false)); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v %v: got %v", c.access, c.rule, err)
			}
		})
	}
}

// A method that creates objects says how many there may be.
func TestQuotaFaults(t *testing.T) {
	t.Parallel()
	post := &annotations.HttpRule{Pattern: &annotations.HttpRule_Post{Post: "/x"}}
	for _, c := range []struct{ name, method, quota, reason, want string }{
		{"another method", "Do", "", "", ""},
		{"nothing said", "AddThing", "", "", "herald.v1.quota"},
		{"a quota", "AddThing", "pats", "", ""},
		{"a reason", "CreateThing", "", "there is one", ""},
		{"both", "CreateThing", "pats", "there is one", "has one"},
		{"an unknown quota", "ImportThings", "things", "", `"things"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := &descriptorpb.MethodOptions{}
			proto.SetExtension(options, heraldv1.E_Quota, c.quota)
			proto.SetExtension(options, heraldv1.E_NoQuota, c.reason)
			access := &heraldv1.Access{Authenticated: true}
			methods, err := contract.Methods(named(t, c.method, options, access, post, false))
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil || slices.Contains(methods[0].Faults, fault.ErrQuotaExceeded.ID) != (c.quota != "") {
				t.Error(err)
			}
		})
	}
}

// with is a contract with a single method.
func with(
	t *testing.T, access *heraldv1.Access, rule *annotations.HttpRule, stream bool,
) protoreflect.ServiceDescriptor {
	t.Helper()
	return named(t, "Do", &descriptorpb.MethodOptions{}, access, rule, stream)
}

// named is a contract with a single method with that name and more options.
func named(
	t *testing.T, name string, options *descriptorpb.MethodOptions, access *heraldv1.Access,
	rule *annotations.HttpRule, stream bool,
) protoreflect.ServiceDescriptor {
	t.Helper()
	if access != nil {
		proto.SetExtension(options, heraldv1.E_Access, access)
	}
	if rule != nil {
		proto.SetExtension(options, annotations.E_Http, rule)
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("test.proto"), Package: new("herald.test.v1"), Syntax: new("proto3"),
		Dependency: []string{"herald/users/v1/users.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("Test"),
			Method: []*descriptorpb.MethodDescriptorProto{{
				Name: &name, InputType: new(".herald.users.v1.GetUserRequest"),
				OutputType: new(".herald.users.v1.GetUserResponse"),
				Options:    options, ServerStreaming: &stream,
			}}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return file.Services().Get(0)
}

// Every contract that is linked in says what its methods need: /auth/v1 reads with openid alone, and every write there
// needs the audience too, except the one that prepares a factor.
func TestScopes(t *testing.T) {
	t.Parallel()
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	alone := regexp.MustCompile(`/(_search|auth_factors/otp)$`)
	for _, m := range methods {
		if m.Internal() {
			continue
		}
		verb, path, _ := contract.Route(m.Rules[0])
		self := strings.HasPrefix(path, "/auth/v1/")
		open := verb == "GET" || verb == "POST" && alone.MatchString(path)
		if few := len(m.Scopes) == 1; few != (self && open) {
			t.Errorf("%s %s needs %v: openid alone is for reads and for preparing a factor", verb, path, m.Scopes)
		}
		if m.Home() != (self || strings.HasPrefix(path, "/admin/v1/")) {
			t.Errorf("%s: home %v", path, m.Home())
		}
	}
}
