// Package structure checks rules of this repository that no common linter has. Faults and methods must have tests, SQL
// and migrations must be written in certain ways, and packages must have few imports and no state. The package only
// parses sources, so it takes seconds and also works for code that does not compile.
package structure

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is a Go file with its comments.
type source struct {
	*ast.File
	// path is the file's name below the root: services/users/internal/domain/user.go.
	path  string
	text  string
	files *token.FileSet
}

// read parses all Go files of a tree, with tests. Of the generated files it parses only the faults.
func read(tree fs.FS) ([]source, error) {
	var all []source
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "shared/gen/herald",
			d.IsDir() && name != "." && (d.Name() == "node_modules" || d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		s, err := parse(name, string(text))
		all = append(all, s)
		return err
	})
	return all, err
}

func parse(name, text string) (source, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	return source{file, name, text, files}, err
}

func (s source) dir() string { return path.Dir(s.path) }

// test reports whether the file is a test file.
func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// generated reports whether a tool writes the file.
func (s source) generated() bool { return ast.IsGenerated(s.File) }

// forTests matches packages that only tests use.
var forTests = regexp.MustCompile(`(^|/)(testkit|testworld)(/|$)`)

// ofTests reports whether only tests use what the file has.
func (s source) ofTests() bool { return s.test() || forTests.MatchString(s.dir()) }

// imported returns the paths that the file imports.
func (s source) imported() []string {
	var paths []string
	for _, spec := range s.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, name)
	}
	return paths
}

// at returns a message about a position in the file.
func (s source) at(p token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", s.path, s.files.Position(p).Line, fmt.Sprintf(format, args...))
}

// check returns the mistakes in sources, each with its position and what to do about it.
func check(sources []source) []string {
	wrong := untested(sources)
	sources = slices.DeleteFunc(sources, source.generated)
	for _, s := range sources {
		for _, rule := range []func(source) []string{undeclared, sql, idiom} {
			wrong = append(wrong, rule(s)...)
		}
	}
	for _, p := range packagesOf(sources) {
		wrong = append(wrong, p.width()...)
		wrong = append(wrong, p.constant()...)
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
