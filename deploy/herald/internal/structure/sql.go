package structure

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// nameless says what SQL in a store must not hold, and what takes its place.
var nameless = []struct {
	refused *regexp.Regexp
	instead string
}{
	{rx(`\$[0-9]`), "name the argument: @id, with postgres.Args"},
	{rx(`\bstate\s*(=|<>|in)\s*\(?\s*[0-9]`), "name the state: @active, with the domain's constant in postgres.Args"},
}

// sql judges the texts of a store: arguments and states have names.
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
		for _, no := range nameless {
			if found := no.refused.FindString(text.Value); found != "" {
				wrong = append(wrong, s.at(n.Pos(), "SQL says %s: %s", found, no.instead))
			}
		}
		return true
	})
	return wrong
}
