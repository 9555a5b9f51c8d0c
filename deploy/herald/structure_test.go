package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// sources parses the program's own Go files, generated ones and tests aside, and
// hands each to visit with its folder below the root.
func sources(t *testing.T, visit func(dir string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "gen" || d.Name() == "tools" || strings.HasPrefix(d.Name(), ".") && path != root) {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		visit(filepath.ToSlash(dir), file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// layers says which imports are refused where.
var layers = []struct {
	in, refused *regexp.Regexp
	why         string
}{
	{rx(`^shared`), rx(`^herald/(services|gateway|deploy)`), "shared imports no service"},
	{rx(`^gateway`), rx(`^herald/(services|deploy)`), "the gateway knows no service"},
	{rx(`^services`), rx(`^herald/(gateway|deploy)`), "services stand below the gateway"},
	{rx(`/internal/domain$`), rx(`^(herald/shared/(gen|event|rpc|bus|postgres|page|boot)|github.com/(jackc|nats-io)|google.golang.org)`), "a domain knows no database, bus or message"},
	{rx(`/internal/store$`), rx(`^herald/(services/\w+/internal/api|shared/(gen/herald/(users|text|auth|notification|projects)|rpc|boot))`), "a store is below the api and knows no message of a contract"},
	{rx(`/internal/domain$`), rx(`^herald/services/\w+/internal/(store|api)`), "a domain is below its store and api"},
}

func rx(s string) *regexp.Regexp { return regexp.MustCompile(s) }

var service = rx(`^(?:herald/)?services/(\w+)`)

// The rooms of a service know only those below them, and services do not know each
// other.
func TestLayers(t *testing.T) {
	t.Parallel()
	seen := 0
	sources(t, func(dir string, file *ast.File) {
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			seen++
			for _, l := range layers {
				if l.in.MatchString(dir) && l.refused.MatchString(path) {
					t.Errorf("%s imports %s: %s", dir, path, l.why)
				}
			}
			from, to := service.FindStringSubmatch(dir), service.FindStringSubmatch(path)
			if from != nil && to != nil && from[1] != to[1] {
				t.Errorf("%s imports %s: services do not know each other", dir, path)
			}
		}
	})
	if seen < 100 {
		t.Errorf("only %d imports were seen", seen)
	}
}

// Every fault has an id of its own, in the form that is documented.
func TestFaultIDs(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	sources(t, func(dir string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 || !isNew(call.Fun, file.Name.Name) {
				return true
			}
			literal, ok := call.Args[1].(*ast.BasicLit)
			if !ok {
				return true
			}
			id, _ := strconv.Unquote(literal.Value)
			if !rx(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`).MatchString(id) {
				t.Errorf("%s: the id %q is not upper snake", dir, id)
			}
			if first, taken := ids[id]; taken {
				t.Errorf("%s: the id %s is declared in %s too", dir, id, first)
			}
			ids[id] = dir
			return true
		})
	})
	if len(ids) < 40 {
		t.Errorf("only %d ids were seen", len(ids))
	}
}

// isNew tells fault.New, which its own package writes New.
func isNew(fun ast.Expr, pkg string) bool {
	switch f := fun.(type) {
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		return ok && x.Name == "fault" && f.Sel.Name == "New"
	case *ast.Ident:
		return pkg == "fault" && f.Name == "New"
	}
	return false
}
