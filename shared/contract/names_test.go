package contract_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/contract"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// public returns the methods with a REST path.
func public(t *testing.T) (methods []contract.Method) {
	t.Helper()
	all, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, contract.Method.Internal)
}

// A name stands for one kind of value in all requests, answers and events: a token is not text in one
// answer and an object in another. The exceptions are those of the specification, and roles that are added together.
func TestNamesOfFields(t *testing.T) {
	t.Parallel()
	specified := []string{
		"after", "email", "key", "kind", "organization_id", "phone", "roles", "state", "type", "user", "value",
	}
	first, seen := map[protoreflect.Name]protoreflect.FieldDescriptor{}, map[protoreflect.FullName]bool{}
	long := regexp.MustCompile(`(^|_)(organization|application|identity_provider|personal_access_token)(_|$)`)
	var read func(protoreflect.MessageDescriptor)
	read = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] || !strings.HasPrefix(string(d.FullName()), "herald.") {
			return
		}
		seen[d.FullName()] = true
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			other := first[f.Name()]
			switch {
			case long.MatchString(string(f.Name())) && !slices.Contains(specified, string(f.Name())):
				t.Errorf("%s: the API says org, app, idp and pat", f.FullName())
			case other == nil:
				first[f.Name()] = f
			case kindOf(f) != kindOf(other) && !slices.Contains(specified, string(f.Name())):
				t.Errorf("%s is %s and %s is %s: give one of them another name", f.FullName(), kindOf(f),
					other.FullName(), kindOf(other))
			}
			if f.Message() != nil {
				read(f.Message())
			}
		}
	}
	for _, m := range public(t) {
		read(m.Input())
		read(m.Output())
	}
	events, err := contract.LinkedEvents()
	if err != nil || len(events) == 0 {
		t.Fatal(err)
	}
	for _, e := range events {
		read(e.MessageDescriptor)
	}
}

// kindOf returns the kind of a field's value, or of each in a list.
func kindOf(f protoreflect.FieldDescriptor) string {
	of := f.Message()
	switch {
	case of == nil:
		return f.Kind().String()
	case strings.HasPrefix(string(of.FullName()), "herald."), of.FullName() == "google.protobuf.Value":
		return "an object"
	}
	return string(of.FullName())
}

// A part of a path that names an object has the same name after the same segment, and the answer that
// says the id of a new object calls it that or id.
func TestNamesInPaths(t *testing.T) {
	t.Parallel()
	after := map[string]string{}
	for _, m := range public(t) {
		_, path, _ := contract.Route(m.Rules[0])
		segments := strings.Split(path, "/")
		for i, s := range segments[1:] {
			// The specification calls the id of a provider id, and that of a linked one idpId.
			if before := segments[i]; strings.HasPrefix(s, "{") && (before != "idps" || i == 3) {
				if known, ok := after[before]; ok && known != s {
					t.Errorf("%s: after %s comes %s elsewhere", path, before, known)
				}
				after[before] = s
			}
		}
	}
	for _, m := range public(t) {
		verb, path, _ := contract.Route(m.Rules[0])
		name, ok := after[path[strings.LastIndex(path, "/")+1:]]
		for i := range m.Output().Fields().Len() {
			got := string(m.Output().Fields().Get(i).Name())
			if verb == "POST" && ok && strings.HasSuffix(got, "_id") && got != strings.Trim(name, "{}") {
				t.Errorf("%s answers %s: it is %s in the paths of the object", path, got, name)
			}
		}
	}
}

// A key of the caller's choice is not the name of an operation beside its path, nor a dot segment: REST
// could not reach what has it.
func TestKeysThatPathsReach(t *testing.T) {
	t.Parallel()
	literals := map[string][]string{} // after the path before a key
	for _, m := range public(t) {
		_, path, _ := contract.Route(m.Rules[0])
		before, last := path[:strings.LastIndex(path, "/")], path[strings.LastIndex(path, "/")+1:]
		if !strings.HasPrefix(last, "{") {
			literals[before] = append(literals[before], last)
		}
	}
	for list, request := range map[string]func(key string) proto.Message{
		"/management/v1/users/{user_id}/metadata": func(key string) proto.Message {
			return &usersv1.SetUserMetadataRequest{UserId: "u", Key: key}
		},
		"/management/v1/projects/{project_id}/roles": func(key string) proto.Message {
			return &projectsv1.AddProjectRolesRequest{ProjectId: "p", Roles: []*projectsv1.NewProjectRole{{Key: key}}}
		},
	} {
		t.Run(list, func(t *testing.T) {
			if err := contract.Validate(request("a")); err != nil || len(literals[list]) == 0 {
				t.Errorf("%d reserved words, %v", len(literals[list]), err)
			}
			for _, key := range append(literals[list], ".", "..") {
				if err := contract.Validate(request(key)); err == nil {
					t.Errorf("the key %s is valid: add it to not_in in the rules of the key", key)
				}
			}
		})
	}
	for _, m := range []proto.Message{
		&projectsv1.AddProjectRoleRequest{ProjectId: "p", Key: "_bulk"}, &usersv1.Metadata{Key: "_search"},
	} {
		if f := fault.From(contract.Validate(m)); !strings.HasPrefix(f.Message, "key: must not be one of ., .., ") {
			t.Errorf("%s: %v", m.ProtoReflect().Descriptor().Name(), f)
		}
	}
}

// A filter is called after the field of the result that it compares.
func TestNamesOfFilters(t *testing.T) {
	t.Parallel()
	specified := []string{"project_resource_owner_query"}
	for _, m := range public(t) {
		queries, result := m.Input().Fields().ByName("queries"), m.Output().Fields().ByName("result")
		if queries == nil {
			continue
		}
		for i := range queries.Message().Fields().Len() {
			query := queries.Message().Fields().Get(i)
			name, ok := strings.CutSuffix(string(query.Name()), "_query")
			if slices.Contains(specified, string(query.Name())) {
				continue
			}
			of := result.Message()
			if !ok || query.Message().Fields().ByName(protoreflect.Name(name)) == nil || !holds(of, name) {
				t.Errorf("%s: want <field>_query with the <field> of %s", query.FullName(), of.FullName())
			}
		}
	}
}

// holds reports whether a message, or one in it, has a field of the name, or a list or choice of such.
func holds(d protoreflect.MessageDescriptor, name string) bool {
	if d.Fields().ByName(protoreflect.Name(name)) != nil || d.Fields().ByName(protoreflect.Name(name+"s")) != nil ||
		d.Oneofs().ByName(protoreflect.Name(name)) != nil {
		return true
	}
	for i := range d.Fields().Len() {
		if inner := d.Fields().Get(i).Message(); inner != nil && holds(inner, name) {
			return true
		}
	}
	return false
}

// The name of a method says what its HTTP verb does.
func TestNamesOfMethods(t *testing.T) {
	t.Parallel()
	words := map[string][]string{
		"GET": {"Get", "List", "Is"}, "PUT": {"Update", "Set"}, "DELETE": {"Remove"},
		"POST": {"Create", "Add", "Set", "Import"}, "_search": {"Search"},
	}
	for _, m := range public(t) {
		verb, path, _ := contract.Route(m.Rules[0])
		last := path[strings.LastIndex(path, "/")+1:]
		want, ok := words[last]
		switch {
		case !ok && verb == "POST" && strings.HasPrefix(last, "_"):
			continue // what it does is in its path
		case !ok:
			want = words[verb]
		}
		if !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(string(m.Name()), w) }) {
			t.Errorf("%s %s is %s: its name begins with one of %v", verb, path, m.Name(), want)
		}
	}
}

// An aggregate has its whole name: a grant is one of a project or of a user.
func TestNamesOfAggregates(t *testing.T) {
	t.Parallel()
	events, err := contract.LinkedEvents()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range events {
		for _, b := range events {
			if a, b := a.Option.Aggregate, b.Option.Aggregate; strings.HasSuffix(b, "_"+a) {
				t.Errorf("the aggregate %s could be %s: call it by its whole name", a, b)
			}
		}
	}
}
