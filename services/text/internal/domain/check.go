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
}

func (t *Texts) parts() []part {
	return []part{
		{name: "title", text: &t.Title},
		{name: "preHeader", text: &t.PreHeader, outside: true},
		{name: "subject", text: &t.Subject, outside: true},
		{name: "greeting", text: &t.Greeting},
		{name: "text", text: &t.Text, lines: true},
		{name: "buttonText", text: &t.ButtonText},
		{name: "footerText", text: &t.FooterText, lines: true},
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
	if wrong != nil {
		return Texts{}, textfault.ErrMessageTextInvalid.Naming(wrong...)
	}
	return t, nil
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
	case text == "":
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
	return ""
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
