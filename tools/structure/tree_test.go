package structure

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Each package stands in the tree of CONTRIBUTING.md, those of shared have at least two users, each feature has the
// same name in all layers, and each store has a test of owners.
func TestPackagesHaveTheirPlace(t *testing.T) {
	t.Parallel()
	sources, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := tree(string(text))
	if err != nil {
		t.Fatal(err)
	}
	sources = slices.DeleteFunc(sources, source.generated)
	for _, wrong := range slices.Concat(planted(sources, shown), shared(sources), features(sources), owners(sources)) {
		t.Error(wrong)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       []string
		fails      bool
	}{
		{"no tree", "text", nil, true},
		{"entries", "```tree\na/\n  b  one\n    c/d  two\n  e  three\nf  four\n```",
			[]string{"a/b", "a/b/c/d", "a/e", "f"}, false},
		{"braces", "```tree\n{a,b}/\n  {c,d}  one\n```", []string{"a/c", "b/c", "a/d", "b/d"}, false},
		{"no words", "```tree\na\n```", nil, true},
		{"too deep", "```tree\na/\n    b  one\n```", nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := tree(test.text)
			if !slices.Equal(got, test.want) || (err != nil) != test.fails {
				t.Errorf("%v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestPlantedAndShared(t *testing.T) {
	t.Parallel()
	sources, err := read(fstest.MapFS{
		"shared/once/a.go":    {Data: []byte("package once")},
		"shared/twice/a.go":   {Data: []byte("package twice")},
		"shared/testkit/a.go": {Data: []byte("package testkit")},
		"gateway/a.go": {Data: []byte(`package a; import "herald/shared/once";` +
			` import "herald/shared/twice"`)},
		"gateway/b/a.go":           {Data: []byte(`package b; import "herald/shared/once"`)},
		"services/users/a.go":      {Data: []byte(`package users; import "herald/shared/twice"`)},
		"services/users/a_test.go": {Data: []byte(`package users; import "herald/shared/once"`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"shared/once: 1 modules use it, fewer than 2: move it to the one that needs it"}
	if got := shared(sources); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	want = []string{
		"CONTRIBUTING.md shows the package gateway twice",
		"shared/once: the tree of packages in CONTRIBUTING.md does not show it",
		"CONTRIBUTING.md shows shared/gone, which is no package",
	}
	got := planted(sources, []string{
		"gateway", "gateway", "gateway/b", "services/users", "shared/twice", "shared/testkit", "shared/gone",
	})
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	const users = "services/users/internal/"
	for name, c := range map[string]struct {
		file  string
		wrong bool
	}{
		"of the domain":           {users + "api/orgs/organization.go", false},
		"of the store":            {users + "api/member.go", false},
		"a part":                  {users + "api/orgs/organization_of_one.go", false},
		"the methods":             {users + "api/api.go", false},
		"what packages share":     {users + "api/base/human.go", false},
		"a test":                  {users + "api/orgs/orgs_test.go", false},
		"another layer":           {users + "consumer/orgs.go", false},
		"the package's name":      {users + "api/orgs/orgs.go", true},
		"a longer name":           {users + "api/orgs/organizations.go", true},
		"of another service":      {"services/idp/internal/api/organization.go", true},
		"api.go in a package":     {users + "api/orgs/api.go", true},
		"a beginning of the name": {users + "api/orgs/org.go", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{}
			for _, file := range []string{users + "domain/organization.go", users + "store/member.go", c.file} {
				tree[file] = &fstest.MapFile{Data: []byte("package a")}
			}
			sources, err := read(tree)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := features(sources); (len(wrong) == 1) != c.wrong || len(wrong) > 1 {
				t.Errorf("%q", wrong)
			}
		})
	}
}

func TestStoresHaveATestOfOwners(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{Data: []byte("package a")}
	sources, err := read(fstest.MapFS{
		"services/users/internal/store/a.go": file, "services/users/internal/store/owner_test.go": file,
		"services/idp/internal/store/a.go": file, "services/idp/internal/store/foreign_test.go": file,
		"services/idp/internal/domain/a.go": file,
	})
	if err != nil {
		t.Fatal(err)
	}
	if wrong := owners(sources); len(wrong) != 1 || !strings.HasPrefix(wrong[0], "services/idp/internal/store: write") {
		t.Errorf("%q", wrong)
	}
}
