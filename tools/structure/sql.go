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
}

// byID is the condition with which Postgres uses the index of ids. While a table is new it might
// otherwise read all rows of an owner.
const byID = "write `id = @id and org_id is not distinct from @org_id`, which no index of the owner answers"

// sql checks the SQL of a store: arguments and states have names, and rows are found by their ids.
func sql(s source) []string {
	if s.test() || !strings.HasSuffix(s.dir(), "/internal/store") {
		return nil
	}
	var wrong []string
	ast.Inspect(s.File, func(n ast.Node) bool {
		text, ok := n.(*ast.BasicLit)
		if !ok || text.Kind != token.STRING {
			return true
		}
		for _, no := range refusedSQL {
			if found := no.refused.FindString(text.Value); found != "" {
				wrong = append(wrong, s.at(n.Pos(), "SQL says %s: %s", found, no.instead))
			}
		}
		return true
	})
	return wrong
}
