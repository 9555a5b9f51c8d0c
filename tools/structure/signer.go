package structure

import (
	"go/ast"
	"slices"
)

// signers are the packages that may sign callers (docs/decisions/0029-own-account.md).
var signers = []string{"gateway", "services/auth/internal/web/onbehalf", "shared/boot", "shared/testkit"}

// signs finds other code that signs callers: whoever can do that can act as anybody.
func signs(s source) []string {
	if s.test() || slices.Contains(signers, s.dir()) {
		return nil
	}
	var wrong []string
	ast.Inspect(s.File, func(n ast.Node) bool {
		call, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, _ := call.X.(*ast.Ident); of != nil && of.Name == "caller" && call.Sel.Name == "NewSigner" {
			wrong = append(wrong, s.at(n.Pos(),
				"signs callers: call as the service, or use services/auth/internal/web/onbehalf"))
		}
		return true
	})
	return wrong
}
