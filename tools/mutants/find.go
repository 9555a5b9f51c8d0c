package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"herald/shared/contract"
)

// The kinds of checks.
const (
	Permission = "permission"
	ActsOn     = "acts_on"
	FreshLogin = "fresh_login"
	NotForApps = "not_for_apps"
	Owner      = "owner"
	Parent     = "parent"
	State      = "state"
)

// Mutant is a check that can be removed.
type Mutant struct {
	// N is its number in this run.
	N    int
	Kind string
	// ID names it in all runs: kind, file, declaration, text, and how often they were there before.
	ID string
	// File is empty, and Method the full name, for a check that a contract asks for.
	File   string
	Method string
}

// edit is text to insert into a file. At the same place, an edit that closes a call comes before all that were found
// earlier.
type edit struct {
	at     int
	text   string
	closes bool
}

// finder collects checks and the edits with which they can be removed.
type finder struct {
	mutants []Mutant
	edits   map[string][]edit
	seen    map[string]int
}

// add numbers a check. what is its text.
func (f *finder) add(kind, file, declaration, what string) int {
	id := strings.Join(strings.Fields(fmt.Sprintf("%s %s %s: %s", kind, file, declaration, what)), " ")
	if f.seen[id]++; f.seen[id] > 1 {
		id += fmt.Sprintf(" (%d)", f.seen[id])
	}
	n := len(f.mutants) + 1
	f.mutants = append(f.mutants, Mutant{N: n, Kind: kind, ID: id, File: file})
	return n
}

// contracts finds the checks that the methods' contracts ask for.
func (f *finder) contracts(methods []contract.Method) {
	for _, m := range methods {
		for _, c := range []struct {
			kind  string
			asked bool
		}{
			{Permission, m.Access.Permission != ""}, {ActsOn, m.Access.ActsOn != ""}, {FreshLogin, m.Access.FreshLogin},
			{NotForApps, m.Access.NotForApps},
		} {
			if c.asked {
				n := f.add(c.kind, "", "", string(m.FullName()))
				f.mutants[n-1].ID, f.mutants[n-1].Method = c.kind+" "+string(m.FullName()), string(m.FullName())
			}
		}
	}
}

// unsearched are folders without checks of organizations' objects: generated code, servers for tests,
// the middleware, whose checks the contracts find, and what builds on them.
var unsearched = []string{
	"shared/gen", "shared/testkit", "shared/postgres", "shared/rpc", "shared/search",
}

// sources finds the checks in the Go files of the services and of what they share.
func (f *finder) sources(root string) error {
	tree := os.DirFS(root)
	for _, top := range []string{"services", "shared"} {
		err := fs.WalkDir(tree, top, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (slices.Contains(unsearched, name) || d.Name() == "testworld"): // stand-ins of tests
				return fs.SkipDir
			case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			return f.file(tree, name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) file(tree fs.FS, name string) error {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, text, 0)
	if err != nil {
		return err
	}
	for _, d := range parsed.Decls {
		s := scope{finder: f, file: name, text: string(text), in: declared(d)}
		s.base = files.File(parsed.FileStart).Base()
		var above []ast.Node
		ast.Inspect(d, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			if v, ok := n.(*ast.ValueSpec); ok && declared(d) == "" {
				s.in = v.Names[0].Name
			}
			s.node(n, above)
			above = append(above, n)
			return true
		})
	}
	if s := f.edits[name]; calls(s) {
		end := files.Position(parsed.Name.End()).Offset
		f.edits[name] = append(s, edit{at: end, text: `; import "herald/shared/mutant"`})
	}
	return nil
}

// calls reports whether an edit needs the package mutant.
func calls(edits []edit) bool {
	return slices.ContainsFunc(edits, func(e edit) bool { return strings.HasPrefix(e.text, "mutant.") })
}

// declared is the name of a function or method, or "".
func declared(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	return f.Name.Name
}

// scope is a declaration in which checks are looked for.
type scope struct {
	*finder
	file, text, in string
	base           int
}

func (s *scope) node(n ast.Node, above []ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if _, field := above[len(above)-1].(*ast.Field); n.Kind == token.STRING && !field {
			s.sql(n)
		}
	case *ast.BinaryExpr, *ast.CallExpr:
		if kind := compares(n.(ast.Expr), above); kind != "" {
			s.condition(kind, n, above)
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && named(n.Tag, "State") {
			s.tag(n)
		}
	}
}

// at returns the text of a node.
func (s *scope) at(n ast.Node) string { return s.text[int(n.Pos())-s.base : int(n.End())-s.base] }

func (s *scope) insert(at token.Pos, text string) {
	s.edits[s.file] = append(s.edits[s.file], edit{at: int(at) - s.base, text: text})
}

// around puts a call of the package mutant around a node.
func (s *scope) around(n ast.Node, function string, number int, more string) {
	s.insert(n.Pos(), "mutant."+function+"("+strconv.Itoa(number)+", ")
	s.edits[s.file] = append(s.edits[s.file], edit{at: int(n.End()) - s.base, text: more + ")", closes: true})
}
