package structure

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// refusedSQL lists what SQL in a store must not contain, and what to write instead.
var refusedSQL = []struct {
	refused *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\$[0-9]`), "name the argument: @id, with postgres.Args"},
	{regexp.MustCompile(`\bstate\s*(=|<>|in)\s*\(?\s*[0-9]`), "name the state: " +
		"@active, with the domain's constant in postgres.Args"},
	{regexp.MustCompile(`\bid = @\w+ and (\w+\.)?(org_id|project_id|user_id) = @\w+`), byID},
	{regexp.MustCompile(`\b(org_id|project_id|user_id) = @\w+( and (\w+\.)?\w+ = @\w+)* and (\w+\.)?id = @\w+`), byID},
	{allMembers, onlyActive},
}

// allMembers matches what reads the memberships in all states. Search queries have their tables in a text of its own.
var allMembers = regexp.MustCompile("(?:\\b(?:from|join|using)|,)\\s+members\\b|^[`\"]\\s*members\\s+\\w+")

// onlyActive keeps the roles of a membership that nobody has accepted from counting.
const onlyActive = "read active_members, or say in structure_test.go why pending memberships belong to it"

// deletes matches the beginning of a deletion, which reads nothing.
var deletes = regexp.MustCompile(`\bdelete\s+from\b`)

// byID is the condition with which Postgres uses the index of ids. While a table is new it might
// otherwise read all rows of an owner.
const byID = "write `id = @id and org_id is not distinct from @org_id`, which no index of the owner answers"

// sql checks the SQL of a store: arguments and states have names, rows are found by their ids, and only memberships
// that were accepted count.
func sql(s source) []string {
	if s.test() || !strings.HasSuffix(s.dir(), "/internal/store") {
		return nil
	}
	var wrong []string
	for _, d := range s.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			for _, no := range refusedSQL {
				if found := no.refused.FindString(deletes.ReplaceAllString(text.Value, "delete")); found != "" {
					wrong = append(wrong, s.at(n.Pos(), "SQL of %s says %s: %s", declares(d), found, no.instead))
				}
			}
			return true
		})
	}
	return wrong
}

// declares returns the name of what is declared, the first one if there are several.
func declares(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				return v.Names[0].Name
			}
		}
	}
	return ""
}
