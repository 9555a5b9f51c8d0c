package domain

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	"herald/shared/mail"
)

// put returns texts with only one part.
func put(name, text string) (t Texts) {
	for _, p := range t.parts() {
		if p.name == name {
			*p.text = text
		}
	}
	return t
}

func names() (all []string) {
	for _, p := range (&Texts{}).parts() {
		all = append(all, p.name)
	}
	return all
}

// accepts fails the test unless a part of a message is taken as it is, or is refused for a reason.
func accepts(t *testing.T, name, text, reason string, good bool) {
	t.Helper()
	got, err := put(name, text).Accept(mail.Init)
	f, refused := errors.AsType[*fault.Fault](err)
	if good {
		if kept := strings.ReplaceAll(text, "\r\n", "\n"); refused || got != put(name, kept) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		return
	}
	if !refused || len(f.Fields) != 1 || !strings.Contains(f.Fields[0].Reason, reason) {
		t.Errorf("%s: %+v", name, err)
		return
	}
	said := f.Fields[0].Reason
	want := textfault.ErrMessageTextInvalid.Say("%s: %s", name, said).On(name, said)
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%s: %+v, want %+v", name, f, want)
	}
}

func TestEachPartIsAcceptedByItsRules(t *testing.T) {
	t.Parallel()
	all, lines, footer := names(), []string{"text", "footerText"}, []string{"footerText"}
	inside := []string{"title", "greeting", "text", "buttonText", "footerText"}
	for _, test := range []struct {
		name, text string
		good       []string // the parts in which it is allowed
		reason     string   // the reason in the fault of the others
	}{
		{"empty", "", all, ""},
		{"plain", "Hello", all, ""},
		{"white space around", "  Hello ", all, ""},
		{"other scripts", "こんにちは Здравствуйте 👩‍🚀", all, ""},
		{"markup", `<b>"a" & 'b'</b>`, all, ""},
		{"placeholders", "{{.FirstName}} {{ .OrgName }}", all, ""},
		{"single braces", "{.Code} }{", all, ""},
		{"longest in the contract", strings.Repeat("x", 40000), all, ""},
		{"the code", "it is {{.Code}}", inside, "must not hold {{.Code}}"},
		{"the code with spaces", "{{  .Code }}", inside, "must not hold {{.Code}}"},
		{"the code in brackets", "({{.Code}}) [ {{.Code}}] (Code {{.Code}})【{{.Code}}】", inside,
			"must not hold {{.Code}}"},
		{"the code at the end of a sentence", "it is {{.Code}}. Or {{.Code}}", inside, "must not hold {{.Code}}"},
		{"the code in brackets of Chinese", "验证码（{{.Code}}）", inside, "must not hold {{.Code}}"},
		{"the code in a bracket after a sign", "?c=({{.Code}})", nil, "{{.Code}}"},
		{"the code in two brackets after a sign", "/([{{.Code}}])", nil, "{{.Code}}"},
		{"the code in a word", "x{{.Code}}", nil, "{{.Code}}"},
		{"the code after a sign", "c={{.Code}}", nil, "{{.Code}}"},
		{"the code after a slash", "/{{.Code}}", nil, "{{.Code}}"},
		{"the code in a name", "{{.Code}}.example", nil, "{{.Code}}"},
		{"the code before a slash", "{{.Code}}/", nil, "{{.Code}}"},
		{"the code before an @", "{{.Code}}@x", nil, "{{.Code}}"},
		{"the code beside a value", "{{.OrgName}}{{.Code}}", nil, "{{.Code}}"},
		{"a value beside the code", "{{.Code}}{{.OrgName}}", nil, "{{.Code}}"},
		{"the code twice", "{{.Code}}{{.Code}}", nil, "{{.Code}}"},
		{"the code after what nobody sees", "\u200b{{.Code}}", nil, "{{.Code}}"},
		{"the code in angles", "<{{.Code}}>", nil, "{{.Code}}"},
		{"an address", "https://example.com/help", nil, "make a link of it"},
		{"LF", "a\nb", lines, "must not hold the character U+000A"},
		{"header", "a\r\nBcc: b", lines, "must not hold the character U+000D"},
		{"tab", "a\tb", lines, "must not hold the character U+0009"},
		{"CR", "a\rb", nil, "must not hold the character U+000D"},
		{"NUL", "a\x00b", nil, "must not hold the character U+0000"},
		{"escape", "a\x1b[31m", nil, "must not hold the character U+001B"},
		{"the code's mark", "a\x1a", nil, "must not hold the character U+001A"},
		{"DEL", "a\x7f", nil, "must not hold the character U+007F"},
		{"NEL", "a\u0085b", nil, "must not hold the character U+0085"},
		{"line separator", "a\u2028b", nil, "must not hold the character U+2028"},
		{"paragraph separator", "a\u2029b", nil, "must not hold the character U+2029"},
		{"direction", "a\u202eb", nil, "must not hold the character U+202E"},
		{"isolate", "a\u2066b", nil, "must not hold the character U+2066"},
		{"not UTF-8", "a\xff", nil, "is not valid UTF-8"},
		{"blank", "   ", footer, "shows nothing"},
		{"blank wide", "\u3000\u00a0", footer, "shows nothing"},
		{"invisible", "\u200b\ufeff", nil, "shows nothing"},
		{"unknown placeholder", "{{.Password}}", nil, `"{{.Password}}" is not a placeholder`},
		{"unknown after known", "{{.OrgName}} {{.OrgNam}}", nil, `"{{.OrgNam}}" is not a placeholder`},
		{"dot", "{{.}}", nil, `"{{.}}" is not a placeholder`},
		{"printf", `{{printf "%s" .Code}}`, nil, "is not a placeholder"},
		{"range", "{{range .}}{{end}}", nil, `"{{range .}}" is not a placeholder`},
		{"call", "{{call .Code}}", nil, `"{{call .Code}}" is not a placeholder`},
		{"unclosed", "{{.FirstName", nil, `"{{.FirstName" is not a placeholder`},
		{"closing only", "a }} b", nil, `"}}" is not a placeholder`},
		{"as many placeholders as may be", strings.Repeat("{{.OrgID}}", maxPlaceholders), all, ""},
		{"one more", strings.Repeat("{{.OrgID}}", maxPlaceholders+1), nil, "is one placeholder too many"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, name := range all {
				accepts(t, name, test.text, test.reason, slices.Contains(test.good, name))
			}
		})
	}
}

// A code of a mail with an address in any part could get there: as a part of the link, or through a reader who is told
// to. The mail shows the code below the texts, so no part has to hold it.
func TestMailWithACodeHasNoAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://evil.example/?c=", "www.evil.example", "evil.example/x", "evil.example",
		"eve@evil.example", "mailto:eve", "{{.OrgName}}.example", "evil。com", "evil．com", "//evil.example", "i❤.ws",
		"evil。中国"} {
		for _, kind := range mail.Kinds() {
			for _, name := range names() {
				_, err := put(name, "at "+address).Accept(kind)
				f := fault.From(err)
				switch refused := errors.Is(err, textfault.ErrMessageTextInvalid); {
				case kind.Notice() && err != nil:
					t.Errorf("%q in %s of %s: %v", address, name, kind, err)
				case !kind.Notice() && (!refused || len(f.Fields) != 1 || f.Fields[0].Path != name ||
					!strings.Contains(f.Fields[0].Reason, "make a link of it")):
					t.Errorf("%q in %s of %s: %v", address, name, kind, err)
				}
			}
		}
	}
}

func TestPlaceholdersWithoutAValueAreRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range mail.Kinds() {
		for name, ofNotice := range map[string]bool{
			"Code": false, "Expiry": false, "ChangedBy": true, "ChangeDate": true,
		} {
			t.Run(name+" in "+string(kind), func(t *testing.T) {
				_, err := Texts{Text: "a {{ ." + name + " }}"}.Accept(kind)
				if name == "ChangeDate" || kind.Notice() == ofNotice {
					if err != nil {
						t.Error(err)
					}
				} else if !errors.Is(err, textfault.ErrMessageTextInvalid) ||
					!strings.Contains(fault.From(err).Message, "must not hold {{."+name+"}}") {
					t.Error(err)
				}
			})
		}
	}
}

func TestRefusedTextNamesAllWrongParts(t *testing.T) {
	t.Parallel()
	_, err := Texts{"{{.A}}", "a\nb", "{{.Code}}", "fine", "\x00", " ", "{{.B}}"}.Accept(mail.Init)
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok {
		t.Fatal(err)
	}
	var paths []string
	for _, field := range f.Fields {
		paths = append(paths, field.Path)
		if !strings.Contains(f.Message, field.Path+": "+field.Reason) {
			t.Errorf("%q does not say what is wrong with %s", f.Message, field.Path)
		}
	}
	if want := []string{"title", "preHeader", "subject", "text", "buttonText", "footerText"}; !slices.Equal(
		paths, want) {
		t.Errorf("named %v, want %v", paths, want)
	}
	half := strings.Repeat("{{.OrgID}}", maxPlaceholders/2+1)
	if _, err = (Texts{Title: half, Greeting: half, Text: half}).Accept(mail.Init); err == nil {
		t.Fatal("placeholders are counted part by part")
	} else if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Path != "greeting" {
		t.Errorf("%+v", f)
	}
	if len(textfault.ErrMessageTextInvalid.Fields) != 0 {
		t.Error("the declared fault has fields now")
	}
}

// A quadratic check of a million braces takes minutes, a linear one far less than a second.
func TestMillionBracesAreCheckedFast(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"{", "{{", "}}", "{{.", "{{.Code}}", "{{ ", "a\r\n", "\u200b"} {
		began := time.Now()
		if _, err := put("text", strings.Repeat(unit, 1_000_000)).Accept(mail.Init); err == nil && unit != "{" &&
			unit != "a\r\n" {
			t.Errorf("a million of %q are accepted", unit)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("a million of %q took %v", unit, took)
		}
	}
}

func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"", "Hello {{.FirstName}}", "{{ .Code }}", "a\r\nb", "\r\r\n", "{{.Nope}}", "\u202e",
		"\xff", " ", "}}{{", "{{range .}}", "evil.example {{.Code}}", "({{.Code}})"} {
		f.Add(seed, seed)
		f.Add(seed, "{{.Code}}")
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		in := Texts{one, other, one, other, one, other, other}
		got, err := in.Accept(mail.Init)
		if err != nil {
			if f := fault.From(err); f.ID != textfault.ErrMessageTextInvalid.ID || len(f.Fields) == 0 ||
				!utf8.ValidString(f.Message) {
				t.Fatalf("%+v", f)
			}
			return
		}
		if again, err := got.Accept(mail.Init); err != nil || again != got {
			t.Fatalf("%+v accepted became %+v, %v", got, again, err)
		}
		for _, p := range got.parts() {
			checkAccepted(t, p)
		}
		checkCode(t, got)
	})
}

// sent is a code as its reader gets it, and address what a simple mail program makes a link of.
var (
	sent    = regexp.MustCompile(`\S*K7MPX4RD\S*`)
	address = regexp.MustCompile(`(?i)www\.\S|[a-z0-9]\.[a-z]{2}|https?:/|\S@\S`)
)

// checkCode checks that no link of a message holds or is beside its code.
func checkCode(t *testing.T, got Texts) {
	t.Helper()
	var all []string
	for _, p := range got.parts() {
		all = append(all, mail.ExpandPlaceholders(*p.text, func(name string) string {
			if name == "Code" {
				return "K7MPX4RD"
			}
			return "x"
		}))
	}
	message := strings.Join(all, "\n")
	for _, word := range sent.FindAllString(message, -1) {
		if !slices.Contains(placeholders(strings.Join([]string{got.Title, got.Greeting, got.Text, got.ButtonText,
			got.FooterText}, "\n")), "Code") {
			break // somebody wrote it
		}
		if link := address.FindString(message); link != "" {
			t.Fatalf("%q is beside %q", word, link)
		}
	}
}

// checkAccepted checks an accepted part by the same rules, written in another way.
func checkAccepted(t *testing.T, p part) {
	t.Helper()
	text := *p.text
	if text != "" && strings.TrimSpace(text) == "" {
		t.Fatalf("%s is blank", p.name)
	}
	for _, r := range text {
		if unicode.IsControl(r) && !(p.lines && (r == '\n' || r == '\t')) ||
			strings.ContainsRune("\u2028\u2029\u202e\u2069", r) {
			t.Fatalf("%s holds %U", p.name, r)
		}
	}
	filled := mail.ExpandPlaceholders(text, func(name string) string {
		if name == "Code" && (p.name == "subject" || p.name == "preHeader") {
			t.Fatalf("%s has the code", p.name)
		}
		return ""
	})
	if mail.CheckPlaceholders(text) != nil || !utf8.ValidString(filled) {
		t.Fatalf("%s: %q", p.name, text)
	}
}
