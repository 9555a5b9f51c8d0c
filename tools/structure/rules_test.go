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

func TestRulesOfSizes(t *testing.T) {
	t.Parallel()
	judge(t, []rule{
		{"file", "", head + strings.Repeat("\n", 447), head + strings.Repeat("\n", 448),
			"a.go:2: the file has 451 lines, more than 450: split it by what its parts are about"},
		{"test file", "shared/a/a_test.go", head + strings.Repeat("\n", 697), head + strings.Repeat("\n", 698),
			"the file has 701 lines, more than 700"},
		{"function", "", head + "func f() {" + strings.Repeat("\n", 79) + "}", head + "func f() {" +
			strings.Repeat("\n", 80) +
			"}", "a.go:4: f has 81 lines, more than 80: give a part of it a name of its own"},
		{"parameters", "", head + "func f(a, b, c int, d, e, g string) {}", head + "func f(a, b, c, d, e, g, h int) {}",
			"a.go:4: 7 parameters, more than 6: pass a struct"},
		{"parameters of a literal", "", head + "var f = func(a int) {}",
			head + "var f = func(a, b, c, d, e, g, h int) {}",
			"7 parameters"},
		{"interface", "", head + "type i interface { A(); B(); C(); D(); E(); F(); G() }",
			head + "type i interface { A(); B(); C(); D(); E(); F(); G(); H() }",
			"an interface of 8 methods, more than 7"},
		{"anonymous interface", "", head + "func f(interface{ A() }) {}",
			head + "func f(interface { A(); B(); C(); D(); E(); F(); G(); H() }) {}", "an interface of 8 methods"},
		{"columns", "", head + "//" + strings.Repeat(" é", 59), head + "//" + strings.Repeat(" é", 60) + ".",
			"a.go:4: 123 columns, more than 120: wrap the line"},
		{"columns of tabs", "", head + "func f() {\n\t//" + strings.Repeat(" x", 57) + "\n}",
			head + "func f() {\n\t\t//" +
				strings.Repeat(" x", 57) + "\n}", "124 columns"},
		{"a word that is long", "", head + "//" + strings.Repeat(" é", 50) + strings.Repeat("x", 81),
			head + "//" + strings.Repeat(" é", 50) + strings.Repeat("x", 79), "wrap the line"},
		{"a tag that is long", "", head + "type t struct {\n\ta int `help:\"" + strings.Repeat("x ", 60) + "\"`\n}",
			head + "var a = `" + strings.Repeat("x ", 60) + "`", "wrap the line"},
	})
}

func TestRulesOfNamesAndComments(t *testing.T) {
	t.Parallel()
	judge(t, []rule{
		{"name of a package", "", head, strings.Replace(head, "package a", "package helper", 1),
			"the name helper says nothing"},
		{"init", "", head + "func (t) init() {}", head + "func init() {}", "init runs unasked"},
		{"package comment", "", head, "package a\n", "services/users/internal/domain: the package has no comment"},
		{"comment of a function", "", head + "// F is.\nfunc F() {}\nfunc f() {}\nfunc (t) F() {}",
			head + "func F() {}",
			"a.go:4: F has no comment: say more about it than its name does"},
		{"idiom", "", head + "// F reports whether it is.\nfunc F() {}",
			head + "// F tells whether it is.\nfunc F() {}",
			`a.go:4: Go's comments say "reports whether"`},
		{"idiom at the beginning", "", head + "// It does not tell whether it is.\nfunc f() {}",
			head + "// Tells whether it is.\nfunc f() {}", "reports whether"},
		{"comment of a method", "", head + "func (t) F() {}", head + "func (*T[P]) F() {}", "F has no comment"},
		{"comment of a type", "", head + "// T is.\ntype T int", head + "type (\n// T is.\nT int\nU int\n)",
			"U has no"},
		{"comment of a constant", "", head + "// All are.\nconst (\nA = 1\nB = 2\n)",
			head + "const (\nA = 1 // is one\nB = 2\n)",
			"B has no comment"},
		{"comment that only directs", "", head + "// F is.\n//go:noinline\nfunc F() {}",
			head + "//go:noinline\nfunc F() {}",
			"F has no comment"},
	})
	for path, want := range map[string]int{
		"shared/util/a.go": 1, "shared/pkg/a/a_test.go": 1, "shared/helper/helper.go": 1, "shared/utility/a.go": 0,
	} {
		if wrong := checked(t, path, head); len(wrong) != want {
			t.Errorf("%s: %q", path, wrong)
		}
	}
}

func TestRuleOfImports(t *testing.T) {
	t.Parallel()
	judge(t, []rule{
		{"layer", "", head + `import _ "herald/shared/fault"`, head + `import _ "herald/shared/event"`,
			"imports herald/shared/event: a domain knows no database, bus or message"},
		{"store", "services/idp/internal/store/a.go", head + `import _ "herald/shared/gen/herald/v1"`,
			head + `import _ "herald/shared/gen/herald/idp/v1"`, "knows no message of a contract"},
		{"messages of a domain", "", head + `import _ "herald/shared/gen/fault/usersfault"`,
			head + `import _ "herald/shared/gen/herald/users/v1"`, "knows no database, bus or message"},
		{"a fault that the contract lacks", "", head + "var e = usersfault.ErrUserNotFound.Say(`x`)",
			head + "var e = fault.New(fault.NotFound, `A`, `x`)", "a.go:4: declares a fault: declare it in the enum"},
		{"shared", "shared/a/a.go", head + `import _ "herald/shared/fault"`, head + `import _ "herald/services/users"`,
			"shared imports no service"},
		{"services", "services/text/a.go", head + `import _ "herald/services/text/internal/api"`,
			head + `import _ "herald/services/users"`, "services do not know each other, they call"},
		{"derived keys", "", head + `import _ "golang.org/x/crypto/hkdf"`, head + `import _ "crypto/pbkdf2"`,
			"imports crypto/pbkdf2: use services/users/internal/password, because its Hasher bounds"},
		{"own imports", "shared/a/a.go", head + importing(10), head + importing(11),
			"imports 11 packages of this repository, more than 10"},
		{"imports of a door", "gateway/a.go", head + importing(20), head + importing(21),
			"more than 20: it does too much"},
	})
}

func TestRulesOfVariablesAndTests(t *testing.T) {
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
		{"sleep", "shared/a/a_test.go", head + "func f() { time.Now() }", head + "func f() { time.Sleep(1) }",
			"a_test.go:4: a test that sleeps: wait for a signal"},
		{"skip", "shared/a/a_test.go", head + "func f() { c.Skipped() }", head + "func f() { t.Skipf() }",
			"a test that may be skipped: let it fail where something is missing"},
		{"clock", "services/a/internal/store/a.go", head + "func f() { time.Unix(0, 0); now.Now() }",
			head + "func f() { time.Since(t) }", "a.go:4: time.Since reads the clock: pass the time as a parameter"},
		{"signer", "services/auth/internal/web/login/a.go", head + "func f() { jose.NewSigner() }",
			head + "func f() { caller.NewSigner() }", "a.go:4: signs callers"},
		{"signer of a test", "gateway/a_test.go", head + "func f() { caller.NewSigner() }",
			head + "func f() { t.Skip() }", "may be skipped"},
		{"short", "shared/a/a_test.go", head, head + "func f() bool { return testing.Short() }",
			"a test that may be skipped"},
	})
}

func TestRulesOfSQL(t *testing.T) {
	t.Parallel()
	const store = "services/users/internal/store/a.go"
	judge(t, []rule{
		{"arguments", store, head + "const a = `where id = @id and n = '$'`", head + "const a = `where id = $1`",
			"a.go:4: SQL says $1: name the argument"},
		{"a state", store, head + "const a = `where state = @active`", head + "const a = `where u.state = 1`",
			"SQL says state = 1: name the state"},
		{"a list of states", store, head + "const a = `where state in (@active, @locked)`",
			head + "const a = `where state in (1, 2)`", "SQL says state in (1: name the state"},
		{"an owner before the id", store, head + "const a = `where id = @id and org_id is not distinct from @org_id`",
			head + "const a = `where u.org_id = @org_id and u.kind = @kind and u.id = @id`", "no index of the owner"},
		{"an owner behind the id", store, head + "const a = `where org_id = @org_id and kind = @kind`",
			head + "const a = `where id = @id and user_id = @user_id`", "no index of the owner"},
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
	} {
		tree := fstest.MapFS{declared: {Data: []byte(fault)}}
		for path, text := range c.files {
			tree[path] = &fstest.MapFile{Data: []byte("package a\n" + text)}
		}
		sources, err := read(tree)
		if err != nil {
			t.Fatal(err)
		}
		wrong := untested(sources)
		if c.want == "" && len(wrong) > 0 || c.want != "" && (len(wrong) != 1 || !strings.Contains(wrong[0], c.want)) {
			t.Errorf("%s: %q, want %q", name, wrong, c.want)
		}
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
