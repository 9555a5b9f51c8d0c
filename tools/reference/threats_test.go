package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/contract"
	heraldv1 "herald/shared/gen/herald/v1"
)

// Every method of the contracts is in one list, and every permission in it has a role that holds it.
func TestThreatsHaveEveryMethodOnce(t *testing.T) {
	t.Parallel()
	c, err := Read(image(t))
	if err != nil {
		t.Fatal(err)
	}
	threats, seen := c.Threats(), map[string]int{}
	operations := append(threats.Own, threats.Public...)
	for _, h := range threats.Held {
		operations = append(operations, h.Operations...)
		if len(h.Roles) == 0 {
			t.Errorf("no role holds %s", h.Permission)
		}
	}
	for _, o := range operations {
		seen[o.Verb+" "+o.Path]++
	}
	for _, m := range append(threats.Pages, threats.Internal...) {
		seen[m.Procedure()]++
	}
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range methods {
		names := []string{m.Procedure()}
		if !m.Internal() {
			names = nil
			for n, rule := range m.Rules {
				o := operation(m, n, rule)
				names = append(names, o.Verb+" "+o.Path)
			}
		}
		for _, name := range names {
			if seen[name] != 1 {
				t.Errorf("%s is in %d lists", name, seen[name])
			}
			delete(seen, name)
		}
	}
	for name := range seen {
		t.Errorf("%s is no method", name)
	}
}

// Every option of a contract that protects a method is in the row of the method.
func TestProtectionHasEveryOption(t *testing.T) {
	t.Parallel()
	elsewhere := map[protoreflect.Name]bool{
		"permission": true, "authenticated": true, "public": true, "internal": true, // say in which list the row is
		"costly": true, // says when the service checks, not what
	}
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	used := map[protoreflect.Name]bool{}
	for _, m := range methods {
		if m.Internal() {
			continue
		}
		m.Access.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			less := m
			less.Access = proto.CloneOf(m.Access)
			less.Access.ProtoReflect().Clear(f)
			if f.Name() == "scopes" {
				less.Scopes = []string{contract.OpenID, contract.Audience}
				if slices.Equal(m.Scopes, less.Scopes) {
					return true
				}
			}
			used[f.Name()] = true
			if !elsewhere[f.Name()] && protection(less) == protection(m) {
				t.Errorf("%s: the row says nothing of %s", m.Procedure(), f.Name())
			}
			return true
		})
	}
	options := (&heraldv1.Access{}).ProtoReflect().Descriptor().Fields()
	for i := range options.Len() {
		if name := options.Get(i).Name(); !used[name] && !elsewhere[name] {
			t.Errorf("no method has the option %s", name)
		}
	}
}

// What the document says of a method is what its contract says.
func TestProtectionIsThatOfContract(t *testing.T) {
	t.Parallel()
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	const above = "not on a user who has a permission that the caller lacks"
	want := map[string]string{
		"/herald.users.v1.Users/LockUser":    above,
		"/herald.projects.v1.Apps/GetApp":    "a role on the project is enough",
		"/herald.users.v1.Orgs/GetMyOrg":     "",
		"/herald.users.v1.Users/SearchUsers": "",
		"/herald.users.v1.Members/AddOrgMember": "on any user: the roles given or taken are compared with the " +
			"caller's; for oneself not by an application that is not trusted",
		"/herald.users.v1.Users/GetMyUser":            "scope `openid` is enough; also called by auth, notification",
		"/herald.users.v1.Members/AcceptMyMembership": "not by an application that is not trusted; also called by auth",
		"/herald.users.v1.Credentials/UpdateEmail": above + "; for oneself only after a login of the last 10 " +
			"minutes; for oneself not by an application that is not trusted",
		"/herald.users.v1.Credentials/UpdateMyEmail": "only after a login of the last 10 minutes; not by an " +
			"application that is not trusted; also called by auth",
		"/herald.users.v1.Credentials/RemoveMyPersonalAccessToken": "only after a login of the last 10 minutes; a " +
			"token may end itself; also called by auth",
	}
	for _, m := range methods {
		if sentence, there := want[m.Procedure()]; there {
			if got := protection(m); got != sentence {
				t.Errorf("%s: %q, want %q", m.Procedure(), got, sentence)
			}
			delete(want, m.Procedure())
		}
	}
	for name := range want {
		t.Errorf("there is no method %s", name)
	}
}

// Each rule that no option says is about methods of the contracts, and a test holds it. Each declaration of a service
// that names a permission is in a rule.
func TestFurtherRulesAreThoseOfTheSources(t *testing.T) {
	t.Parallel()
	c, err := Read(image(t))
	if err != nil {
		t.Fatal(err)
	}
	permissions, said := map[string]bool{}, map[string]string{}
	for _, h := range c.Threats().Held {
		permissions[h.Permission] = true
	}
	for _, r := range c.Rules() {
		if len(r.Operations) != len(r.Methods) {
			t.Errorf("%v are not the methods of %d operations", r.Methods, len(r.Operations))
		}
		if r.Permission != "" && !permissions[r.Permission] {
			t.Errorf("there is no permission %s", r.Permission)
		}
		if !strings.Contains(sources(t, r.In+"/*_test.go"), "\nfunc "+r.Test+"(t *testing.T)") {
			t.Errorf("there is no %s in %s", r.Test, r.In)
		}
		for _, place := range r.Asked {
			said[place] += "`" + r.Permission + "` " + r.Needs
		}
	}
	for place, asked := range asking(t, permissions) {
		for _, permission := range asked {
			if !strings.Contains(said[place], "`"+permission+"`") {
				t.Errorf("%s asks for %s: say for what in further.go", place, permission)
			}
		}
		delete(said, place)
	}
	for place := range said {
		t.Errorf("%s, in further.go, asks for no permission", place)
	}
}

// asking returns the declarations of services that name permissions, each with its folder, and the permissions.
func asking(t *testing.T, permissions map[string]bool) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../services/*/internal/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob("../../services/*/internal/*/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, file := range append(files, deeper...) {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testworld/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			place := strings.TrimPrefix(filepath.Dir(file), "../../") + "." + declaration(d)
			ast.Inspect(d, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if ok && permissions[strings.Trim(literal.Value, "\"`")] {
					found[place] = append(found[place], strings.Trim(literal.Value, "\"`"))
				}
				return true
			})
		}
	}
	if len(found) == 0 {
		t.Fatal("no service names a permission")
	}
	return found
}

// declaration returns the name of a function, or the first one of a declaration of constants or variables.
func declaration(d ast.Decl) string {
	if f, ok := d.(*ast.FuncDecl); ok {
		return f.Name.Name
	}
	if g, ok := d.(*ast.GenDecl); ok && len(g.Specs) > 0 {
		if v, ok := g.Specs[0].(*ast.ValueSpec); ok {
			return v.Names[0].Name
		}
	}
	return ""
}

// sources returns the text of the files of the repository that match a pattern, tests only if it names them.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob("../../" + pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") != strings.HasSuffix(pattern, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
