package structure

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestMethodsHaveTests(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	sources, err := read(tree)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := uncalled(sources, tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestRuleOfTestedMethods(t *testing.T) {
	t.Parallel()
	const contract = "shared/proto/herald/text/v1/text.proto"
	for name, c := range map[string]struct {
		file, text string
		tested     bool
	}{
		"in its service":      {"services/text/a_test.go", "func f() { c.GetText(ctx, r) }", true},
		"in its api":          {"services/text/internal/api/a_test.go", "func f() { c.GetText(ctx, r) }", true},
		"in the gateway":      {"gateway/internal/edge/a_test.go", "func f() { c.GetText(ctx, r) }", true},
		"not in a test":       {"services/text/a.go", "func f() { c.GetText(ctx, r) }", false},
		"of another service":  {"services/users/a_test.go", "func f() { c.GetText(ctx, r) }", false},
		"a method like it":    {"services/text/a_test.go", "func f() { c.GetTexts(ctx, r) }", false},
		"only in a text":      {"services/text/a_test.go", "func f() { g(`GetText`) }", false},
		"a function like it":  {"services/text/a_test.go", "func GetText() {}", false},
		"a test of something": {"services/text/a_test.go", "func f() {}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{
				contract: {Data: []byte("service Texts {\n  // Reads.\n  rpc GetText(A) returns (B) {\n")},
				c.file:   {Data: []byte("package a\n" + c.text)},
			}
			sources, err := read(tree)
			if err != nil {
				t.Fatal(err)
			}
			want := contract + ": no test calls GetText: write one in services/text"
			if c.tested {
				want = ""
			}
			if wrong, err := uncalled(sources, tree); err != nil || strings.Join(wrong, "\n") != want {
				t.Errorf("%q, %v", wrong, err)
			}
		})
	}
}

func TestServicesHaveFewMethods(t *testing.T) {
	t.Parallel()
	wrong, err := crowded(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestRuleOfCrowdedServices(t *testing.T) {
	t.Parallel()
	service := func(name string, methods int) string {
		return "service " + name + " {\n" + strings.Repeat("  rpc A(B) returns (C) {\n  }\n", methods) + "}\n"
	}
	const file = "shared/proto/herald/users/v1/users.proto"
	for name, c := range map[string]struct{ text, want string }{
		"as many as may be": {service("Users", 25), ""},
		"one more":          {service("Users", 26), file + ": Users has 26 methods, more than 25: make a service"},
		"two services":      {service("Users", 13) + service("Orgs", 13), ""},
		"the second":        {service("Users", 1) + service("Orgs", 26), "Orgs has 26 methods"},
		"no service":        {"message A {}\n", "no contract has a service"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, err := crowded(fstest.MapFS{file: {Data: []byte(c.text)}})
			if err != nil {
				wrong = append(wrong, err.Error())
			}
			if got := strings.Join(wrong, "\n"); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
