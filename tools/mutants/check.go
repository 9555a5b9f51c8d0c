package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// What precedes a condition in SQL, and the conditions of each kind. An assignment in a `set` or a value in a list of
// values is not a condition.
const before = `(?s)(\bwhere\s+|\band\s+|\bor\s+|\bon\s+|\bwhen\s+|\(\s*|^["` + "`" + `]\s*)`

var conditions = []struct {
	kind string
	is   *regexp.Regexp
}{
	{Owner, regexp.MustCompile(before + `((?:\w+\.)?(?:\w*org_id|organization_id)\s*` +
		`(?:(?:=|is not distinct from)\s*(?:@\w+|\?|asked\.id)|in\s*\('', (?:@\w+|asked\.id)\)))`)},
	{Parent, regexp.MustCompile(before + `((?:\w+\.)?(?:(?:user|project|application)_id\s*` +
		`(?:is not distinct from\s*@\w+|=\s*\?)|id\s*=\s*@application_id))`)},
	{State, regexp.MustCompile(before + `((?:\w+\.)?state\s*` +
		`(?:(?:=|<>)\s*(?:@\w+|\?|\w+\(\))|(?:in|= any)\s*\([^)]*\)))`)},
}

// sql finds conditions in a string, and marks them for mutant.SQL.
func (s *scope) sql(literal *ast.BasicLit) {
	if strings.Contains(s.file, "/internal/api/") {
		return // a filter that the caller asks for
	}
	for _, c := range conditions {
		for _, at := range c.is.FindAllStringSubmatchIndex(literal.Value, -1) {
			begin, end := at[4], at[5]
			n := s.add(c.kind, s.file, s.in, literal.Value[begin:end])
			s.insert(literal.Pos()+token.Pos(begin), fmt.Sprintf("/*mutant %d*/", n))
			s.insert(literal.Pos()+token.Pos(end), "/*end*/")
		}
	}
}

// named reports whether an expression is a field whose name ends in this.
func named(e ast.Expr, suffix string) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return named(e.X, suffix)
	case *ast.StarExpr:
		return named(e.X, suffix)
	case *ast.SelectorExpr:
		return strings.HasSuffix(e.Sel.Name, suffix)
	}
	return false
}

// compares returns the kind of a condition on a field of a state or an organization, or "".
func compares(e ast.Expr, above []ast.Node) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op != token.EQL && e.Op != token.NEQ {
			return ""
		}
		for suffix, kind := range map[string]string{"State": State, "OrgID": Owner, "OrganizationID": Owner} {
			if named(e.X, suffix) || named(e.Y, suffix) {
				return kind
			}
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && len(e.Args) == 0 && named(f.X, "State") && decides(above) {
			return State
		}
	}
	return ""
}

// decides reports whether an expression below these nodes must be a condition.
func decides(above []ast.Node) bool {
	switch n := above[len(above)-1].(type) {
	case *ast.UnaryExpr:
		return n.Op == token.NOT
	case *ast.BinaryExpr:
		return n.Op == token.LAND || n.Op == token.LOR
	case *ast.IfStmt, *ast.CaseClause:
		return true
	}
	return false
}

// condition lets a condition never hold, and always hold unless it refuses a request.
func (s *scope) condition(kind string, n ast.Node, above []ast.Node) {
	what := s.at(n)
	if !refuses(above) {
		s.around(n, "Always", s.add(kind, s.file, s.in, what+", always"), "")
	}
	s.around(n, "Never", s.add(kind, s.file, s.in, what+", never"), "")
}

// refuses reports whether a condition's own statement returns an error.
func refuses(above []ast.Node) bool {
	for _, n := range slices.Backward(above) {
		var body []ast.Stmt
		switch n := n.(type) {
		case *ast.IfStmt:
			body = n.Body.List
		case *ast.CaseClause:
			body = n.Body
		case ast.Expr:
			continue
		default:
			return false
		}
		if len(body) != 1 {
			return false
		}
		r, ok := body[0].(*ast.ReturnStmt)
		if !ok || len(r.Results) == 0 {
			return false
		}
		last, ok := r.Results[len(r.Results)-1].(*ast.Ident)
		return !ok || last.Name != "nil" && last.Name != "true" && last.Name != "false"
	}
	return false
}

// tag removes each case of a switch on a state.
func (s *scope) tag(n *ast.SwitchStmt) {
	for _, c := range n.Body.List {
		for _, value := range c.(*ast.CaseClause).List {
			number := s.add(State, s.file, s.in, "case "+s.at(value)+", never")
			s.around(n.Tag, "Without", number, ", "+s.at(value))
		}
	}
}
