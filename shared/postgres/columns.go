package postgres

import (
	"strings"
	"unicode"
)

// Each writes a prefix before each of the columns, which are separated by commas.
func Each(prefix, columns string) string {
	names := strings.FieldsFunc(columns, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	return prefix + strings.Join(names, ", "+prefix)
}
