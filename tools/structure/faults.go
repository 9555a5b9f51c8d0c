package structure

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// declared is a fault of a service.
type declared struct {
	source
	name    *ast.Ident
	id      string
	service string // services/users
}

var inService = regexp.MustCompile(`^services/\w+`)

// untested finds faults of services without a test, which must contain the variable or the id. The
// domain, the store and the package that declares a fault need such a test if they use the fault. If
// none of them uses it, the tests of the service must have one.
func untested(sources []source) []string {
	faults := declaredIn(sources)
	used, tested := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, s := range sources {
		if !inService.MatchString(s.dir()) {
			continue
		}
		names := used
		if s.test() {
			names = tested
		}
		if names[s.dir()] == nil {
			names[s.dir()] = map[string]bool{}
		}
		for _, name := range named(s) {
			names[s.dir()][name] = true
		}
	}
	var wrong []string
	for _, f := range faults {
		folders := slices.Compact(slices.Sorted(slices.Values([]string{
			f.service + "/internal/domain", f.service + "/internal/store", f.dir(),
		})))
		folders = slices.DeleteFunc(folders, func(folder string) bool { return !used[folder][f.name.Name] })
		if len(folders) == 0 {
			folders = []string{f.service}
		}
		for _, folder := range folders {
			if !tested[folder][f.name.Name] && !tested[folder][f.id] {
				wrong = append(wrong, f.at(f.name.Pos(), "no test in %s gets %s: add what it refuses to a test there",
					folder, f.name.Name))
			}
		}
	}
	return wrong
}

// declaredIn lists the faults that services declare as variables.
func declaredIn(sources []source) []declared {
	var all []declared
	for _, s := range sources {
		service := inService.FindString(s.dir())
		if service == "" || s.test() {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != len(v.Names) {
				return true
			}
			for i, name := range v.Names {
				if id := faultID(v.Values[i]); id != "" {
					all = append(all, declared{s, name, id, service})
				}
			}
			return true
		})
	}
	return all
}

// faultID returns the id that fault.New gives in an expression; empty where there is none.
func faultID(e ast.Expr) (id string) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 {
			return true
		}
		made, ok := call.Fun.(*ast.SelectorExpr)
		text, literal := call.Args[1].(*ast.BasicLit)
		if from := root(call.Fun); ok && literal && from != nil && from.Name == "fault" && made.Sel.Name == "New" {
			id, _ = strconv.Unquote(text.Value)
		}
		return id == ""
	})
	return id
}

// named lists the names that a file uses, and its texts; not the variables that it declares.
func named(s source) []string {
	var names []string
	declares := map[*ast.Ident]bool{}
	ast.Inspect(s.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for _, name := range n.Names {
				declares[name] = true
			}
		case *ast.Ident:
			if !declares[n] && strings.HasPrefix(n.Name, "Err") {
				names = append(names, n.Name)
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				names = append(names, text)
			}
		}
		return true
	})
	return names
}
