package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"herald/shared/fault"
)

// Fault is an error that callers can get.
type Fault struct {
	*fault.Fault
	// Owner is the service that declares it, gateway, or shared.
	Owner string
}

// source is a parsed Go file of the program.
type source struct {
	*ast.File
	// Dir is its folder below the root: services/users/internal/domain.
	Dir string
}

// sourcesOf parses the program's own Go files below a folder, without generated ones and tests, in
// the order of their names.
func sourcesOf(root string) ([]source, error) {
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "gen" || d.Name() == "tools" ||
			strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		all = append(all, source{file, filepath.ToSlash(dir)})
		return err
	})
	return all, err
}

var upperSnake = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)

// Faults returns the faults that are declared with fault.New below a folder, sorted by id. It
// refuses ids that occur twice or are not in upper snake case.
func Faults(root string) ([]Fault, error) {
	sources, err := sourcesOf(root)
	if err != nil {
		return nil, err
	}
	constants := constantsOf(sources)
	var found []Fault
	var mistakes []error
	for _, s := range sources {
		s.eachNew(func(call *ast.CallExpr, status string) {
			f, err := s.fault(call, constants, status)
			if err == nil && slices.ContainsFunc(found, func(other Fault) bool { return other.ID == f.ID }) {
				err = errors.New("the id is declared twice")
			}
			if err != nil {
				mistakes = append(mistakes, fmt.Errorf("%s: fault %s: %w", s.Dir, f.ID, err))
			}
			found = append(found, f)
		})
	}
	slices.SortFunc(found, func(a, b Fault) int { return strings.Compare(a.ID, b.ID) })
	return found, errors.Join(mistakes...)
}

// eachNew calls visit for each fault.New in the package variables of a file, with the name of its
// HTTP status.
func (s source) eachNew(visit func(call *ast.CallExpr, status string)) {
	for _, d := range s.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		statuses := statusesOf(g)
		ast.Inspect(g, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 3 && isNew(call.Fun, s.Name.Name) {
				visit(call, statuses[call])
			}
			return true
		})
	}
}

// isNew reports whether a call is fault.New, or New in package fault itself.
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

var codes = map[string]fault.Code{
	"Invalid": fault.Invalid, "Deadline": fault.Deadline, "NotFound": fault.NotFound, "Exists": fault.Exists,
	"Denied": fault.Denied, "Exhausted": fault.Exhausted, "Precondition": fault.Precondition,
	"Unimplemented": fault.Unimplemented, "Internal": fault.Internal, "Unavailable": fault.Unavailable,
	"Unauthenticated": fault.Unauthenticated,
}

// fault returns the fault that a call of fault.New declares.
func (s source) fault(call *ast.CallExpr, constants map[string]string, status string) (Fault, error) {
	id, known := s.text(call.Args[1], constants)
	message, said := s.text(call.Args[2], constants)
	name := call.Args[0]
	if x, ok := name.(*ast.SelectorExpr); ok {
		name = x.Sel
	}
	code, ok := name.(*ast.Ident)
	f := Fault{fault.New(0, id, message), s.owner()}
	switch {
	case !known || !said || !ok || codes[code.Name] == 0:
		return f, errors.New("is not written in constants")
	case !upperSnake.MatchString(id):
		return f, errors.New("the id is not upper snake")
	}
	f.Fault.Code = codes[code.Name]
	if status != "" {
		number := numberOf(status)
		if number == 0 {
			return f, fmt.Errorf("the status %s is not one of net/http's", status)
		}
		f.Fault = f.WithStatus(number)
	}
	return f, nil
}

func (s source) owner() string {
	parts := strings.Split(s.Dir, "/")
	if parts[0] == "services" && len(parts) > 1 {
		return parts[1]
	}
	return parts[0]
}

// text returns the value of an expression of literals and our constants, which may be converted or
// joined.
func (s source) text(e ast.Expr, constants map[string]string) (string, bool) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		first, ok := s.text(e.X, constants)
		rest, both := s.text(e.Y, constants)
		return first + rest, ok && both
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.CallExpr:
		if to, ok := e.Fun.(*ast.Ident); ok && to.Name == "string" && len(e.Args) == 1 {
			return s.text(e.Args[0], constants)
		}
	case *ast.SelectorExpr:
		pkg, _ := e.X.(*ast.Ident)
		for _, i := range s.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if pkg != nil && strings.HasSuffix(path, "/"+pkg.Name) {
				text, ok := constants[strings.TrimPrefix(path, "herald/")+"."+e.Sel.Name]
				return text, ok
			}
		}
	case *ast.Ident:
		text, ok := constants[s.Dir+"."+e.Name]
		return text, ok
	}
	return "", false
}

// constantsOf returns the texts of constants, by folder and name.
func constantsOf(sources []source) map[string]string {
	all := map[string]string{}
	for _, s := range sources {
		for _, d := range s.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, value := range v.Values {
					if text, ok := s.text(value, nil); ok {
						all[s.Dir+"."+v.Names[i].Name] = text
					}
				}
			}
		}
	}
	return all
}

// statusesOf returns the names of the statuses in fault.New(…).WithStatus(http.…).
func statusesOf(d *ast.GenDecl) map[*ast.CallExpr]string {
	all := map[*ast.CallExpr]string{}
	ast.Inspect(d, func(n ast.Node) bool {
		outer, ok := n.(*ast.CallExpr)
		if !ok || len(outer.Args) != 1 {
			return true
		}
		method, ok := outer.Fun.(*ast.SelectorExpr)
		if !ok || method.Sel.Name != "WithStatus" {
			return true
		}
		inner, isCall := method.X.(*ast.CallExpr)
		status, isName := outer.Args[0].(*ast.SelectorExpr)
		if isCall && isName {
			all[inner] = status.Sel.Name
		}
		return true
	})
	return all
}

// numberOf returns the number of a status by its name in net/http, which is made of its text.
func numberOf(status string) int {
	for n := http.StatusBadRequest; n < 600; n++ {
		if text := http.StatusText(n); text != "" && "Status"+strings.ReplaceAll(text, " ", "") == status {
			return n
		}
	}
	return 0
}
