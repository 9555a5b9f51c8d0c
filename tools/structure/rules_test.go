package structure

import (
	"cmp"
	"strings"
	"testing"
	"testing/fstest"
)

const head = "// Package a is a package.\npackage a\n\n"

// rule is a source that just obeys a rule, and one that does not.
type rule struct {
	name string
	// path is services/users/internal/domain/a.go if it is empty.
	path      string
	good, bad string
	// want is a part of the expected message about bad.
	want string
}

func TestRuleOfImports(t *testing.T) {
	t.Parallel()
	judge(t, []rule{
		{"imports", "shared/a/a.go", head + importing(10), head + importing(11),
			"imports 11 packages of this repository, more than 10"},
		{"imports of a package that connects", "gateway/a.go", head + importing(20), head + importing(21),
			"more than 20: it does too much"},
	})
}

func TestRuleOfDeclaredFaults(t *testing.T) {
	t.Parallel()
	judge(t, []rule{
		{"a fault that the contract lacks", "", head + "var e = usersfault.ErrUserNotFound.Say(`x`)",
			head + "var e = fault.New(fault.NotFound, `A`, `x`)", "a.go:4: declares a fault: declare it in the enum"},
	})
}

func TestRuleOfComments(t *testing.T) {
	t.Parallel()
	judge(t, []rule{
		{"idiom", "", head + "// F reports whether it is.\nfunc F() {}",
			head + "// F tells whether it is.\nfunc F() {}",
			`a.go:4: Go's comments say "reports whether"`},
		{"idiom at the beginning", "", head + "// It does not tell whether it is.\nfunc f() {}",
			head + "// Tells whether it is.\nfunc f() {}", "reports whether"},
	})
}

func TestRulesOfVariables(t *testing.T) {
	t.Parallel()
	judge(t, []rule{
		{"assigned", "", head + "var v = 1\nfunc f() { v := 2; v = 3; _ = v }", head + "var v = 1\nfunc f() { v = 2 }",
			"a.go:5: v of the whole package is changed: keep what changes in a value that is passed"},
		{"an element assigned", "", head + "var m = map[int]int{}\nfunc f() { _ = m[1] }",
			head + "var m = map[int]int{}\nfunc f() { m[1] = 2 }", "m of the whole package is changed"},
		{"a field counted", "", head + "var s struct{ n int }\nfunc f(s *struct{ n int }) { s.n++ }",
			head + "var s struct{ n int }\nfunc f() { s.n++ }", "s of the whole package is changed"},
		{"deleted from", "", head + "var m map[int]int\nfunc f(m map[int]int) { delete(m, 1) }",
			head + "var m map[int]int\nfunc f() { delete(m, 1) }", "m of the whole package is changed"},
		{"state", "", head + "type t struct{ m sync.Mutex }", head + "var m sync.Mutex",
			"m of the whole package changes"},
	})
}

func TestRulesOfSQL(t *testing.T) {
	t.Parallel()
	const store = "services/users/internal/store/a.go"
	judge(t, []rule{
		{"arguments", store, head + "const a = `where id = @id and n = '$'`", head + "const a = `where id = $1`",
			"a.go:4: SQL of a says $1: name the argument"},
		{"a state", store, head + "const a = `where state = @active`", head + "const a = `where u.state = 1`",
			"SQL of a says state = 1: name the state"},
		{"a list of states", store, head + "const a = `where state in (@active, @locked)`",
			head + "const a = `where state in (1, 2)`", "SQL of a says state in (1: name the state"},
		{"an owner before the id", store, head + "const a = `where id = @id and org_id is not distinct from @org_id`",
			head + "const a = `where u.org_id = @org_id and u.kind = @kind and u.id = @id`", "no index of the owner"},
		{"an owner behind the id", store, head + "const a = `where org_id = @org_id and kind = @kind`",
			head + "const a = `where id = @id and user_id = @user_id`", "no index of the owner"},
		{"members who have not accepted", store, head + "func f() { g(`delete from members where id in (select id " +
			"from active_members m)`, `members_id`) }", head + "func f() { g(`select state from members m`) }",
			"a.go:4: SQL of f says from members: read active_members"},
		{"joined members", store, head + "var q = `from users join active_members on true, removed_members`",
			head + "var q = `from users u, members m`", "SQL of q says , members: read active_members"},
		{"members in a search", store, head + "var q = `active_members m join users u`, `members`",
			head + "var q = `members m join users u`", "SQL of q says `members m: read active_members"},
	})
}

// A fault is tested in the package that returns it, or in the tests of the service if that is the api.
func TestRuleOfTestedFaults(t *testing.T) {
	t.Parallel()
	const domain, store, api = "services/users/internal/domain/", "services/users/internal/store/",
		"services/users/internal/api/"
	const declared = "shared/gen/fault/usersfault/usersfault.go"
	fault := head + "var ErrA = fault.New(fault.NotFound, \"A_ONE\", \"Gone\").On(\"a\", \"b\")\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the package without a test; empty for none
	}{
		"nowhere": {map[string]string{domain + "b.go": "func f() error { return usersfault.ErrA }"},
			"usersfault.go:4: no test in services/users/internal/domain gets ErrA: add"},
		"by its variable": {map[string]string{domain + "b.go": "func f() error { return usersfault.ErrA }",
			domain + "a_test.go": "var _ = usersfault.ErrA"}, ""},
		"by its id": {map[string]string{domain + "b.go": "func f() error { return usersfault.ErrA }",
			domain + "a_test.go": "var _ = `A_ONE`"}, ""},
		"elsewhere": {map[string]string{store + "b.go": "var m = map[string]error{`x`: usersfault.ErrA}",
			domain + "a_test.go": "var _ = usersfault.ErrA"}, "no test in services/users/internal/store gets ErrA"},
		"of the api": {map[string]string{api + "b.go": "func f() error { return usersfault.ErrA }"},
			"no test in services/users gets ErrA"},
		"in a story": {map[string]string{api + "b.go": "func f() error { return usersfault.ErrA }",
			"services/users/a_test.go": "var _ = `A_ONE`"}, ""},
		"beside the api": {map[string]string{api + "b.go": "func f() error { return usersfault.ErrA }",
			api + "a_test.go": "var _ = `A_ONE`"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{declared: {Data: []byte(fault)}}
			for path, text := range c.files {
				tree[path] = &fstest.MapFile{Data: []byte("package a\n" + text)}
			}
			sources, err := read(tree)
			if err != nil {
				t.Fatal(err)
			}
			wrong := untested(sources)
			one := len(wrong) == 1 && strings.Contains(wrong[0], c.want)
			if c.want == "" && len(wrong) > 0 || c.want != "" && !one {
				t.Errorf("%q, want %q", wrong, c.want)
			}
		})
	}
}

// judge checks that bad has one mistake and good none.
func judge(t *testing.T, rules []rule) {
	t.Helper()
	for _, c := range rules {
		path := cmp.Or(c.path, "services/users/internal/domain/a.go")
		if wrong := checked(t, path, c.good); len(wrong) > 0 {
			t.Errorf("%s: what is good is wrong: %q", c.name, wrong)
		}
		if wrong := checked(t, path, c.bad); len(wrong) != 1 || !strings.Contains(wrong[0], c.want) {
			t.Errorf("%s: %q, want %q", c.name, wrong, c.want)
		}
	}
}

// checked returns the mistakes in a tree of one file.
func checked(t *testing.T, path, text string) []string {
	t.Helper()
	sources, err := read(fstest.MapFS{
		path: {Data: []byte(text)}, "shared/gen/herald/a.go": {Data: []byte("package util")},
		"shared/a.txt": {Data: []byte("x")},
	})
	if err != nil || len(sources) != 1 {
		t.Fatalf("%s: %d files, %v", path, len(sources), err)
	}
	return check(sources)
}

// importing returns a source that imports n packages of this repository, and others that do not
// count.
func importing(n int) string {
	text := "import (\n\"fmt\"\n_ \"herald/shared/gen/herald/v1\"\n"
	for i := range n {
		text += "_ \"herald/shared/a" + strings.Repeat("a", i) + "\"\n"
	}
	return text + ")"
}

// Variables that another file of the package declares are found too.
func TestVariablesOfAnotherFile(t *testing.T) {
	t.Parallel()
	sources, err := read(fstest.MapFS{
		"shared/a/a.go":      {Data: []byte(head + "var v = 1")},
		"shared/a/b.go":      {Data: []byte("package a\n\nfunc f() { v++ }")},
		"shared/a/a_test.go": {Data: []byte("package a\n\nvar v = 1\nfunc g() { v++ }")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if wrong := check(sources); len(wrong) != 1 || !strings.HasPrefix(wrong[0], "shared/a/b.go:3: v of") {
		t.Errorf("%q", wrong)
	}
}
