package structure

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of the style.
const (
	maxFile       = 450
	maxTestFile   = 700
	maxFunction   = 80
	maxParameters = 6
	maxMethods    = 7
	maxColumns    = 120
	maxImports    = 10
	maxDoor       = 20
	tab           = 4
)

// sizes checks the lengths of the file, its functions and its interfaces.
func sizes(s source) []string {
	var wrong []string
	limit := maxFile
	if s.test() {
		limit = maxTestFile
	}
	if n := strings.Count(s.text, "\n"); n > limit {
		wrong = append(wrong,
			s.at(s.Package, "the file has %d lines, more than %d: split it by what its parts are about",
				n, limit))
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := s.lines(n); lines > maxFunction {
				wrong = append(wrong, s.at(n.Name.Pos(),
					"%s has %d lines, more than %d: give a part of it a name of its own", n.Name.Name, lines,
					maxFunction))
			}
		case *ast.FuncType:
			if count := n.Params.NumFields(); count > maxParameters {
				wrong = append(wrong, s.at(n.Pos(), "%d parameters, more than %d: pass a struct", count, maxParameters))
			}
		case *ast.InterfaceType:
			if count := n.Methods.NumFields(); count > maxMethods {
				wrong = append(wrong, s.at(n.Pos(),
					"an interface of %d methods, more than %d: declare what its user needs", count, maxMethods))
			}
		}
		return true
	})
	return wrong
}

// whole finds what cannot be wrapped: a struct tag, or a word of more than 80 characters.
var whole = regexp.MustCompile("`[a-z]+:\".*\"`$|\\S{81}")

func columns(s source) []string {
	var wrong []string
	for i, line := range strings.Split(s.text, "\n") {
		width := utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
		if width > maxColumns && !whole.MatchString(line) {
			wrong = append(wrong, s.at(s.files.File(s.Package).LineStart(i+1),
				"%d columns, more than %d: wrap the line",
				width, maxColumns))
		}
	}
	return wrong
}

var empty = []string{"util", "utils", "common", "helper", "helpers", "manager", "pkg", "impl"}

// words checks the package's name and refuses init functions.
func words(s source) []string {
	var wrong []string
	for _, name := range append(strings.Split(s.dir(), "/"), s.Name.Name) {
		if slices.Contains(empty, name) {
			wrong = append(wrong,
				s.at(s.Package, "the name %s says nothing: name the package after what it holds", name))
			break
		}
	}
	for _, d := range s.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			wrong = append(wrong, s.at(f.Pos(), "init runs unasked: call a function from where the program starts"))
		}
	}
	return wrong
}

var tells = regexp.MustCompile(`(?i)\btells whether\b`)

// idiom finds comments whose verbs are not those of Go's own comments.
func idiom(s source) []string {
	var wrong []string
	for _, group := range s.Comments {
		for _, c := range group.List {
			if tells.MatchString(c.Text) {
				wrong = append(wrong, s.at(c.Pos(), `Go's comments say "reports whether"`))
			}
		}
	}
	return wrong
}

// documented finds exported names without a comment.
func documented(s source) []string {
	if s.test() {
		return nil
	}
	var wrong []string
	missing := func(name *ast.Ident, doc ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(doc, func(c *ast.CommentGroup) bool { return c.Text() != "" }) {
			wrong = append(wrong, s.at(name.Pos(), "%s has no comment: say more about it than its name does", name))
		}
	}
	for _, d := range s.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiver(d).IsExported() {
				missing(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					missing(spec.Name, d.Doc, spec.Doc, spec.Comment)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						missing(name, d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return wrong
}

// receiver returns the name of a method's type, or the function's own name.
func receiver(f *ast.FuncDecl) *ast.Ident {
	if f.Recv == nil {
		return f.Name
	}
	for e := f.Recv.List[0].Type; ; {
		switch of := e.(type) {
		case *ast.StarExpr:
			e = of.X
		case *ast.IndexExpr:
			e = of.X
		case *ast.IndexListExpr:
			e = of.X
		case *ast.Ident:
			return of
		default:
			return f.Name
		}
	}
}

// waits finds tests that sleep or are skipped.
func waits(s source) []string {
	if !s.test() {
		return nil
	}
	var wrong []string
	ast.Inspect(s.File, func(n ast.Node) bool {
		call, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch of, _ := call.X.(*ast.Ident); {
		case of == nil:
		case of.Name == "time" && call.Sel.Name == "Sleep":
			wrong = append(wrong, s.at(n.Pos(), "a test that sleeps: wait for a signal"))
		case slices.Contains([]string{"t", "b", "f", "tb"}, of.Name) && strings.HasPrefix(call.Sel.Name, "Skip"),
			of.Name == "testing" && call.Sel.Name == "Short":
			wrong = append(wrong, s.at(n.Pos(), "a test that may be skipped: let it fail where something is missing"))
		}
		return true
	})
	return wrong
}

// timeless are the packages that get the time as a parameter or from the journal.
var timeless = regexp.MustCompile(`^services/\w+/internal/(domain|store|consumer|start)$`)

// clock finds code that reads the clock and should not, because its tests set the time.
func clock(s source) []string {
	if s.test() || !timeless.MatchString(s.dir()) {
		return nil
	}
	var wrong []string
	ast.Inspect(s.File, func(n ast.Node) bool {
		call, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, _ := call.X.(*ast.Ident)
		if of != nil && of.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, call.Sel.Name) {
			wrong = append(wrong, s.at(n.Pos(), "time.%s reads the clock: pass the time as a parameter", call.Sel.Name))
		}
		return true
	})
	return wrong
}
