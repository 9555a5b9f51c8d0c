package mail

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func values(name string) string {
	return map[string]string{"FirstName": "Ada", "Code": "K7M2", "NickName": "{{.Code}}"}[name]
}

func TestCheckAndExpand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, piece, expanded string }{
		{"empty", "", "", ""},
		{"plain", "Hello", "", "Hello"},
		{"one", "Hello {{.FirstName}}!", "", "Hello Ada!"},
		{"spaces", "{{ .FirstName}}{{.FirstName }}{{   .FirstName   }}", "", "AdaAdaAda"},
		{"adjacent", "{{.FirstName}}{{.Code}}", "", "AdaK7M2"},
		{"value empty", "[{{.OrgName}}]", "", "[]"},
		{"value is a placeholder", "{{.NickName}} {{.Code}}", "", "{{.Code}} K7M2"},
		{"single braces", "{.Code} { } {a} }{", "", "{.Code} { } {a} }{"},
		{"brace after", "{{.Code}}}", "", "K7M2}"},
		{"non-ASCII around", "ß{{.FirstName}}漢", "", "ßAda漢"},
		{"brace before", "{{{.Code}}", "{{{.Code}}", "{K7M2"},
		{"two placeholders' braces", "{{{{.Code}}}}", "{{{{.Code}}", "{{K7M2}}"},
		{"unknown", "{{.Password}}", "{{.Password}}", "{{.Password}}"},
		{"unknown after known", "{{.Code}} {{.Nope}} x", "{{.Nope}}", "K7M2 {{.Nope}} x"},
		{"case", "{{.code}}", "{{.code}}", "{{.code}}"},
		{"no dot", "{{Code}}", "{{Code}}", "{{Code}}"},
		{"space after dot", "{{. Code}}", "{{. Code}}", "{{. Code}}"},
		{"tab", "{{\t.Code}}", "{{\t.Code}}", "{{\t.Code}}"},
		{"line break", "{{.Code\n}}", "{{.Code\n}}", "{{.Code\n}}"},
		{"longer name", "{{.CodeX}}", "{{.CodeX}}", "{{.CodeX}}"},
		{"dot", "{{.}}", "{{.}}", "{{.}}"},
		{"root", "{{$}}", "{{$}}", "{{$}}"},
		{"printf", `{{printf "%s" .Code}}`, `{{printf "%s" .Code}}`, `{{printf "%s" .Code}}`},
		{"range", "{{range .}}{{end}}", "{{range .}}", "{{range .}}{{end}}"},
		{"call", "{{call .Code}}", "{{call .Code}}", "{{call .Code}}"},
		{"method", "{{.Code.String}}", "{{.Code.String}}", "{{.Code.String}}"},
		{"pipe", "{{.Code|html}}", "{{.Code|html}}", "{{.Code|html}}"},
		{"trim marker", "{{- .Code -}}", "{{- .Code -}}", "{{- .Code -}}"},
		{"comment", "{{/* .Code */}}", "{{/* .Code */}}", "{{/* .Code */}}"},
		{"unclosed", "a {{.Code", "{{.Code", "a {{.Code"},
		{"half closed", "{{.Code}", "{{.Code}", "{{.Code}"},
		{"closing only", "a }} b", "}}", "a }} b"},
		{"NUL", "{{.Code\x00}}", "{{.Code\x00}}", "{{.Code\x00}}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := CheckPlaceholders(test.text)
			refused, _ := errors.AsType[*PlaceholderError](err)
			if (refused == nil) != (test.piece == "") || (refused != nil && refused.Piece != test.piece) {
				t.Errorf("CheckPlaceholders(%q) = %v, want piece %q", test.text, err, test.piece)
			}
			if got := ExpandPlaceholders(test.text, values); got != test.expanded {
				t.Errorf("ExpandPlaceholders(%q) = %q, want %q", test.text, got, test.expanded)
			}
		})
	}
}

func TestErrorIsShort(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{
		strings.Repeat("é", 1000), strings.Repeat("\xff", 1000), strings.Repeat("é", maxPiece-2),
	} {
		err, _ := errors.AsType[*PlaceholderError](CheckPlaceholders("ok {{" + tail))
		if n := utf8.RuneCountInString(err.Piece); n != maxPiece {
			t.Errorf("%d runes shown of %.9q…, want %d", n, tail, maxPiece)
		}
	}
	if err := CheckPlaceholders("{{\x1b[31m\n}}"); err.Error() != `"{{\x1b[31m\n}}" is not a placeholder` {
		t.Errorf("control characters are not escaped: %q", err)
	}
}

// A quadratic scan of a million braces takes minutes, a linear one milliseconds.
func TestMillionBraces(t *testing.T) {
	t.Parallel()
	const million = 1_000_000
	for _, unit := range []string{"{", "}", "{{", "}}", "{{.", "{{ ", "{{.Code", "{{ .Code ", "{ {", "{{.Code}}",
		"{{" + strings.Repeat(" ", 1000)} {
		text := strings.Repeat(unit, million/len(unit))
		began := time.Now()
		_ = CheckPlaceholders(text)
		ExpandPlaceholders(text, values)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a million of %.12q took %v", unit, took)
		}
	}
	if err := CheckPlaceholders("{{" + strings.Repeat(" ", million) + ".Code}}"); err != nil {
		t.Errorf("many spaces: %v", err)
	}
}

// naive implements the grammar in another way: between {{ and the next }} there are a dot and a
// name, perhaps within spaces.
func naive(text string) string {
	names := strings.Fields(`.FirstName .LastName .NickName .DisplayName .UserName .LoginName .LoginNames
		.PreferredLoginName .LastEmail .VerifiedEmail .LastPhone .VerifiedPhone .UserID .OrgID .OrgName
		.CreationDate .ChangeDate .Code .Expiry`)
	var out strings.Builder
	for text != "" {
		inner, rest, closed := strings.Cut(text, "}}")
		name, opened := strings.CutPrefix(inner, "{{")
		name = strings.Trim(name, " ")
		if closed && opened && slices.Contains(names, name) {
			out.WriteString("<" + name[1:] + ">")
			text = rest
			continue
		}
		out.WriteByte(text[0])
		text = text[1:]
	}
	return out.String()
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"", "{{.Code}}", "{{ .FirstName }} {{{.Code}}", "{{{{.Code}}}}", "}}{{", "{{.Nope}}",
		"{{.UserID}}{{.OrgID", "\xff{{\x00.Code}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := ExpandPlaceholders(text, func(name string) string { return "<" + name + ">" })
		if want := naive(text); got != want {
			t.Fatalf("ExpandPlaceholders(%q) = %q, want %q", text, got, want)
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"", "{{.Code}}", "{{.Code}}}", "{{{.Code}}", "{{.Nope}}", "}}", "{}", "{{  .Expiry  }}x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := CheckPlaceholders(text)
		left := ExpandPlaceholders(text, func(string) string { return "x" })
		if (strings.Contains(left, "{{") || strings.Contains(left, "}}")) && err == nil {
			t.Fatalf("CheckPlaceholders(%q) passed, but %q is left", text, left)
		}
		if refused, is := errors.AsType[*PlaceholderError](err); is {
			start := strings.TrimSuffix(refused.Piece, "…")
			if utf8.RuneCountInString(refused.Piece) > maxPiece || !strings.Contains(text, start) {
				t.Fatalf("CheckPlaceholders(%q) shows %q", text, refused.Piece)
			}
		}
	})
}
