package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/contract"
)

func newFinder() *finder { return &finder{edits: map[string][]edit{}, seen: map[string]int{}} }

const written = "const w = `insert into a (org_id) select @org_id; " +
	"update a set state = @state, org_id = @org_id where id = @id`"

// Checks are found where they are and put behind their switches. Assignments, values and filters are
// none.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want, found string }{
		"owners and parents": {
			"services/a/internal/store/s.go",
			"const read = `select from k where k.id = @id and k.org_id is not distinct from @org_id\n" +
				"\tand k.user_id is not distinct from @user_id`",
			"const read = `select from k where k.id = @id " +
				"and /*mutant 1*/k.org_id is not distinct from @org_id/*end*/\n" +
				"\tand /*mutant 2*/k.user_id is not distinct from @user_id/*end*/`",
			"owner * read: k.org_id is not distinct from @org_id; " +
				"parent * read: k.user_id is not distinct from @user_id",
		},
		"two alike, and a search": {
			"services/a/internal/store/s.go",
			`func list() { with("x where org_id = @org_id or (org_id = @org_id)").Where("org_id = ?", org) }`,
			`func list() { with("x where /*mutant 1*/org_id = @org_id/*end*/ or ` +
				`(/*mutant 2*/org_id = @org_id/*end*/)").Where("/*mutant 3*/org_id = ?/*end*/", org) }`,
			"owner * list: org_id = @org_id; " +
				"owner * list: org_id = @org_id (2); " +
				"owner * list: org_id = ?",
		},
		"written values": {
			"services/a/internal/store/s.go",
			written, written,
			"",
		},
		"a state in SQL": {
			"services/a/internal/store/s.go", "const r = `from a where state in (@a, @b) and n.state <> gone()`",
			"const r = `from a where /*mutant 1*/state in (@a, @b)/*end*/ and /*mutant 2*/n.state <> gone()/*end*/`",
			"state * r: state in (@a, @b); state * r: n.state <> gone()",
		},
		"a filter": {
			"services/a/internal/api/s.go", `func f() { q.Where("state = ?", s) }`,
			`func f() { q.Where("state = ?", s) }`, "",
		},
		"a refusal": {
			"services/a/internal/domain/s.go",
			"func (a *A) Stop() error {\n\tif a.State != Active || a.old {\n\t\treturn Err\n\t}\n}",
			"func (a *A) Stop() error {\n\tif mutant.Never(1, a.State != Active) || a.old {\n\t\treturn Err\n\t}\n}",
			"state * Stop: a.State != Active, never",
		},
		"another condition": {
			"services/a/internal/domain/s.go", "func f() bool { return a.OrgID == b }",
			"func f() bool { return mutant.Always(1, mutant.Never(2, a.OrgID == b)) }",
			"owner * f: a.OrgID == b, always; " +
				"owner * f: a.OrgID == b, never",
		},
		"a switch": {
			"services/a/internal/domain/s.go", "func f() {\n\tswitch a.State {\n\tcase A, B:\n\t}\n}",
			"func f() {\n\tswitch mutant.Without(1, mutant.Without(2, a.State, B), A) {\n\tcase A, B:\n\t}\n}",
			"state * f: case A, never; state * f: case B, never",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, text := newFinder(), "package s\n\n"+c.text+"\n"
			if err := f.file(fstest.MapFS{c.file: {Data: []byte(text)}}, c.file); err != nil {
				t.Fatal(err)
			}
			got := edited(text, f.edits[c.file])
			want := "package s\n\n" + c.want + "\n"
			if strings.Contains(want, "mutant.") {
				want = `package s; import "herald/shared/mutant"` + want[len("package s"):]
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			var found []string
			for _, m := range f.mutants {
				found = append(found, m.ID)
			}
			if all := strings.ReplaceAll(strings.Join(found, "; "), c.file, "*"); all != c.found {
				t.Errorf("found %s", all)
			}
		})
	}
}

// The checks of the repository can be removed: every changed file is Go, every anchor is there, and
// every equivalent check is known.
func TestRepository(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	f := newFinder()
	f.contracts(methods)
	if err := f.sources(root); err != nil {
		t.Fatal(err)
	}
	name, err := overlaid(root, t.TempDir(), f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var o overlay
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatal(err)
	}
	for _, changed := range o.Replace {
		if _, err := parser.ParseFile(token.NewFileSet(), changed, nil, 0); err != nil {
			t.Error(err)
		}
	}
	kinds, known := map[string]int{}, map[string]bool{}
	for _, m := range f.mutants {
		kinds[m.Kind]++
		known[m.ID] = true
	}
	for kind, least := range map[string]int{
		Permission: 110, ActsOn: 20, FreshLogin: 10, NotForApps: 10, Owner: 80, Parent: 20, State: 50,
	} {
		t.Run(kind, func(t *testing.T) {
			if kinds[kind] < least {
				t.Errorf("only %d checks of the kind %s are found", kinds[kind], kind)
			}
		})
	}
	for id := range equivalent {
		if !known[id] {
			t.Errorf("there is no %q: take it out of equivalent", id)
		}
	}
}

// The program is linked with the contracts of every service.
func TestContractsAreLinked(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../shared/proto/herald/*/v1/*.proto")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(file, "../../shared/proto/")
		_, err = protoregistry.GlobalFiles.FindFileByPath(name)
		if err != nil && strings.Contains(string(text), "\n  rpc ") {
			t.Errorf("%v: import its package in main.go", err)
		}
	}
}
