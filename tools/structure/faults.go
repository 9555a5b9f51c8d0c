package structure

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// declared is a fault of the contract of a service.
type declared struct {
	source
	name    *ast.Ident
	id      string
	service string // services/users
}

var (
	inService = regexp.MustCompile(`^services/\w+`)
	// generatedFaults are the packages that are generated from the contracts of services.
	generatedFaults = regexp.MustCompile(`^shared/gen/fault/(\w+)fault$`)
	// deciding are the packages of a service that decide whether a request is refused.
	deciding = []string{"domain", "store", "password"}
)

// undeclared finds faults that the program declares beside the contracts.
func undeclared(s source) []string {
	if s.ofTests() || s.dir() == "shared/fault" || strings.HasPrefix(s.dir(), "tools/") {
		return nil
	}
	var wrong []string
	ast.Inspect(s.File, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isNew(call) {
			wrong = append(wrong, s.at(call.Pos(), "declares a fault: declare it in the enum Fault of the contract, "+
				"and use the value that is generated"))
		}
		return true
	})
	return wrong
}

// isNew reports whether a call is fault.New.
func isNew(call *ast.CallExpr) bool {
	made, ok := call.Fun.(*ast.SelectorExpr)
	from := root(call.Fun)
	return ok && from != nil && from.Name == "fault" && made.Sel.Name == "New"
}

// untested finds faults of services without a test, which must contain the variable or the id. The domain, the store
// and the passwords need such a test if they use the fault. If none of them uses it, any other test of the service
// must have one.
func untested(sources []source) []string {
	used, tested := map[string]map[string]bool{}, map[string]map[string]bool{}
	for _, s := range sources {
		if !inService.MatchString(s.dir()) {
			continue
		}
		names, folder := used, s.dir()
		if s.ofTests() {
			names = tested
			if !slices.Contains(deciding, path.Base(folder)) {
				folder = inService.FindString(folder)
			}
		}
		if names[folder] == nil {
			names[folder] = map[string]bool{}
		}
		for _, name := range named(s) {
			names[folder][name] = true
		}
	}
	var wrong []string
	for _, f := range declaredIn(sources) {
		var folders []string
		for _, name := range deciding {
			if folder := f.service + "/internal/" + name; used[folder][f.name.Name] {
				folders = append(folders, folder)
			}
		}
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

// declaredIn lists the faults of services.
func declaredIn(sources []source) []declared {
	var all []declared
	for _, s := range sources {
		match := generatedFaults.FindStringSubmatch(s.dir())
		if match == nil || match[1] == "gateway" {
			continue
		}
		ast.Inspect(s.File, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != len(v.Names) {
				return true
			}
			for i, name := range v.Names {
				if id := faultID(v.Values[i]); id != "" {
					all = append(all, declared{s, name, id, "services/" + match[1]})
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
		if !ok || len(call.Args) != 3 || !isNew(call) {
			return true
		}
		if text, literal := call.Args[1].(*ast.BasicLit); literal {
			id, _ = strconv.Unquote(text.Value)
		}
		return id == ""
	})
	return id
}

// named lists the names of faults that a file uses, and its texts.
func named(s source) []string {
	var names []string
	ast.Inspect(s.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if strings.HasPrefix(n.Name, "Err") {
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

// selected lists the names that a file selects, such as the methods that it calls.
func selected(s source) []string {
	var names []string
	ast.Inspect(s.File, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			names = append(names, selector.Sel.Name)
		}
		return true
	})
	return names
}
