package services_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"herald/deploy/herald/internal/services"
)

// Every sealed secret belongs to a secret.Column. So every column in a service's code must be in the service's list:
// otherwise `herald keys rotate` would not seal it with the new key, and the old key would be removed.
func TestEverySealedColumnIsListed(t *testing.T) {
	t.Parallel()
	listed, named := map[string]bool{}, map[string]bool{}
	for service, columns := range services.Sealed() {
		for _, c := range columns {
			listed[service+" "+c.String()] = true
		}
	}
	err := filepath.WalkDir("../../../../services", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		service := strings.Split(filepath.ToSlash(path), "/")[5]
		ast.Inspect(file, func(n ast.Node) bool {
			if column, ok := literal(n); ok {
				named[service+" "+column] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !named["users otp_factors.secret"] || !named["idp idps.client_secret"] {
		t.Errorf("the search finds only %v", named)
	}
	for column := range named {
		if !listed[column] {
			t.Errorf("%s is sealed, but not in the service's Sealed: see New in services.go", column)
		}
	}
	for column := range listed {
		if !named[column] {
			t.Errorf("%s is listed as sealed, and nothing seals it", column)
		}
	}
}

// literal returns table.column of a secret.Column that is written out.
func literal(n ast.Node) (string, bool) {
	made, ok := n.(*ast.CompositeLit)
	if !ok {
		return "", false
	}
	name, ok := made.Type.(*ast.SelectorExpr)
	if !ok || name.Sel.Name != "Column" {
		return "", false
	}
	if of, ok := name.X.(*ast.Ident); !ok || of.Name != "secret" {
		return "", false
	}
	fields := map[string]string{}
	for _, e := range made.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if value, ok := pair.Value.(*ast.BasicLit); ok {
				fields[pair.Key.(*ast.Ident).Name], _ = strconv.Unquote(value.Value)
			}
		}
	}
	return fields["Table"] + "." + fields["Name"], true
}
