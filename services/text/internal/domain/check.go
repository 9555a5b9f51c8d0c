package domain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"herald/shared/fault"
	"herald/shared/gen/fault/textfault"
	"herald/shared/mail"
)

// maxPlaceholders bounds the placeholders of one message, so that it is not too large for a mail
// when the longest values of a user are filled in.
const maxPlaceholders = 100

// part is one text of a message, with the rules for it.
type part struct {
	// name is the field's in the contract's JSON.
	name string
	text *string
	// lines reports that the part may have line breaks and tabs.
	lines bool
	// outside reports that the part is visible without opening the mail, such as on a locked
	// screen or in the log of a relay. It must not contain the code.
	outside bool
	// optional reports that white space alone stands for no text, because a message can do without the part.
	optional bool
}

func (t *Texts) parts() []part {
	return []part{
		{name: "title", text: &t.Title},
		{name: "preHeader", text: &t.PreHeader, outside: true},
		{name: "subject", text: &t.Subject, outside: true},
		{name: "greeting", text: &t.Greeting},
		{name: "text", text: &t.Text, lines: true},
		{name: "buttonText", text: &t.ButtonText},
		{name: "footerText", text: &t.FooterText, lines: true, optional: true},
	}
}

// Accept returns the texts of a kind of message as they are stored, with all line breaks as "\n". If they
// cannot be sent it returns ErrMessageTextInvalid, which names every wrong part. An empty part stands for the default
// text and is always accepted.
func (t Texts) Accept(kind mail.Kind) (Texts, error) {
	var wrong []fault.Field
	total := 0
	for _, p := range t.parts() {
		if p.lines {
			*p.text = strings.ReplaceAll(*p.text, "\r\n", "\n")
		}
		used := placeholders(*p.text)
		before := total
		total += len(used)
		reason := cmp.Or(p.fault(used), unfilled(kind, used))
		if reason == "" && before <= maxPlaceholders && total > maxPlaceholders {
			reason = fmt.Sprintf("is one placeholder too many: a message may have %d", maxPlaceholders)
		}
		if reason != "" {
			wrong = append(wrong, fault.Field{Path: p.name, Reason: reason})
		}
	}
	if wrong == nil {
		wrong = t.linked(kind)
	}
	if wrong != nil {
		return Texts{}, textfault.ErrMessageTextInvalid.Naming(wrong...)
	}
	return t, nil
}

// linked returns the parts with an address, if mails of the kind have a code: a link could take it elsewhere. Each such
// mail shows the code, whatever its texts hold.
func (t *Texts) linked(kind mail.Kind) (wrong []fault.Field) {
	if kind.Notice() {
		return nil
	}
	for _, p := range t.parts() {
		if link := mail.Link(*p.text); link != "" {
			wrong = append(wrong, fault.Field{Path: p.name, Reason: fmt.Sprintf(
				"must not hold %q: mail programs make a link of it, and the mail shows a code", link)})
		}
	}
	return wrong
}

// unfilled returns what is wrong with placeholders that have no value in a kind of message, or "".
func unfilled(kind mail.Kind, used []string) string {
	absent, why := []string{"ChangedBy"}, "it is for notices of a change"
	if kind.Notice() {
		absent, why = []string{"Code", "Expiry"}, "a notice has no code"
	}
	for _, name := range absent {
		if slices.Contains(used, name) {
			return "must not hold {{." + name + "}}: " + why
		}
	}
	return ""
}

// placeholders returns the names of the placeholders in a text.
func placeholders(text string) (names []string) {
	mail.ExpandPlaceholders(text, func(name string) string {
		names = append(names, name)
		return ""
	})
	return names
}

// fault returns what is wrong with a part in which these placeholders are used, or "".
func (p part) fault(used []string) string {
	text := *p.text
	at := strings.IndexFunc(text, p.refuses)
	switch {
	case text == "", p.optional && strings.TrimSpace(text) == "":
		return ""
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	case !strings.ContainsFunc(text, visible):
		return "shows nothing; leave it empty for the default text"
	case at >= 0:
		refused, _ := utf8.DecodeRuneInString(text[at:])
		return fmt.Sprintf("must not hold the character %U", refused)
	case p.outside && slices.Contains(used, "Code"):
		return "must not hold {{.Code}}: it is seen without opening the mail"
	}
	if err := mail.CheckPlaceholders(text); err != nil {
		return err.Error()
	}
	if !alone(text) {
		return "must hold {{.Code}} alone, between spaces or brackets"
	}
	return ""
}

// alone reports whether every code in a text is between spaces or brackets, so that it is no part of a word that a mail
// program makes a link of. A mark may end the sentence after it. The bracket before it begins a word, because "?c=("
// may be in an address. Chinese and Japanese have no spaces before brackets.
func alone(text string) bool {
	const code = '\x1a' // no text holds it
	rest := mail.ExpandPlaceholders(text, func(name string) string {
		if name == "Code" {
			return string(code)
		}
		return "x"
	})
	begins, apart := true, false // apart: the character before is no part of an address
	for rest != "" {
		r, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		if r == code && !(begins && ends(after(rest), unicode.Pe)) {
			return false
		}
		begins = unicode.IsSpace(r) || unicode.Is(unicode.Ps, r) && (begins || apart)
		apart = r >= utf8.RuneSelf || unicode.Is(unicode.Pe, r)
	}
	return true
}

// after returns the character at the start of a text, or the one after it if that is the mark of a sentence.
func after(text string) rune {
	r, size := utf8.DecodeRuneInString(text)
	if size > 0 && strings.ContainsRune(".,;!?。！？，、；", r) {
		r, size = utf8.DecodeRuneInString(text[size:])
	}
	if size == 0 {
		return ' '
	}
	return r
}

func ends(r rune, bracket *unicode.RangeTable) bool {
	return unicode.IsSpace(r) || unicode.Is(bracket, r)
}

// refuses reports whether a character is not allowed in the part: control characters, such as
// those that end a header, Unicode's line separators, and marks that change the direction of the
// text after them.
func (p part) refuses(r rune) bool {
	if r == '\n' || r == '\t' {
		return !p.lines
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) ||
		'\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
