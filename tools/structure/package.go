package structure

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// packaged is the files of one package in one folder, without tests and generated files.
type packaged struct {
	dir   string
	files []source
}

func packagesOf(sources []source) []packaged {
	made := map[string]*packaged{}
	for _, s := range sources {
		if s.test() || s.generated() {
			continue
		}
		if made[s.dir()] == nil {
			made[s.dir()] = &packaged{dir: s.dir()}
		}
		made[s.dir()].files = append(made[s.dir()].files, s)
	}
	var all []packaged
	for _, dir := range slices.Sorted(maps.Keys(made)) {
		all = append(all, *made[dir])
	}
	return all
}

// connecting matches the packages that connect the parts of a program or a service, such as the package of a service at
// its root. They may import more packages than others.
var connecting = regexp.MustCompile(`^(services/\w+|services/auth/internal/routes|gateway|` +
	`deploy/herald|deploy/herald/internal/(allinone|command|services))$`)

// width checks the number of this repository's packages that a package imports, without generated
// ones.
func (p packaged) width() []string {
	own := map[string]bool{}
	for _, s := range p.files {
		for _, path := range s.imported() {
			if strings.HasPrefix(path, "herald/") && !strings.HasPrefix(path, "herald/shared/gen/") {
				own[path] = true
			}
		}
	}
	limit := 10
	if connecting.MatchString(p.dir) {
		limit = 20
	}
	if len(own) <= limit {
		return nil
	}
	return []string{fmt.Sprintf("%s: imports %d packages of this repository, more than %d: it does too much; move a "+
		"part of it out, or below: %s", p.dir, len(own), limit, strings.Join(slices.Sorted(maps.Keys(own)), ", "))}
}

// constant finds package variables that are assigned to after their declaration.
func (p packaged) constant() []string {
	variables := p.variables()
	var wrong []string
	for _, s := range p.files {
		ast.Inspect(s.File, func(n ast.Node) bool {
			for _, e := range changed(n) {
				name := root(e)
				if name == nil || name.Name == "_" || variables[name.Name] == nil {
					continue
				}
				// Without an object the name is declared in another file of the package.
				if name.Obj == nil || name.Obj.Decl == variables[name.Name] {
					wrong = append(wrong, s.at(e.Pos(),
						"%s of the whole package is changed: keep what changes in a value that is passed", name.Name))
				}
			}
			return true
		})
	}
	return append(wrong, p.state()...)
}

// variables returns the declarations of the package's variables by name.
func (p packaged) variables() map[string]*ast.ValueSpec {
	variables := map[string]*ast.ValueSpec{}
	for _, s := range p.files {
		for _, d := range s.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, spec := range g.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						variables[name.Name] = spec.(*ast.ValueSpec)
					}
				}
			}
		}
	}
	return variables
}

// changed returns the expressions to which a statement assigns.
func changed(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// state matches packages whose types hold state.
var state = regexp.MustCompile(`^(sync|atomic)$`)

// state finds package variables whose types hold state.
func (p packaged) state() []string {
	var wrong []string
	for _, s := range p.files {
		for _, d := range s.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				if t, ok := v.Type.(*ast.SelectorExpr); ok && state.MatchString(fmt.Sprint(t.X)) {
					wrong = append(wrong,
						s.at(v.Pos(), "%s of the whole package changes: keep it in a value that is passed",
							v.Names[0]))
				}
			}
		}
	}
	return wrong
}

// root returns the first name in an expression such as a.b[c].
func root(e ast.Expr) *ast.Ident {
	for {
		switch of := e.(type) {
		case *ast.Ident:
			return of
		case *ast.SelectorExpr:
			e = of.X
		case *ast.IndexExpr:
			e = of.X
		case *ast.StarExpr:
			e = of.X
		case *ast.ParenExpr:
			e = of.X
		default:
			return nil
		}
	}
}
