package inbox

import (
	"os"
	"regexp"
	"strings"
)

// term is a text that a mail must contain, in one field or anywhere.
type term struct{ field, text string }

var termPattern = regexp.MustCompile(`(?i)(?:(to|from|subject|message-id):)?(?:"([^"]*)"|(\S+))`)

// parseQuery parses a part of Mailpit's search language: words and "quoted words", which may follow
// to:, from:, subject: or message-id:. A mail must have all of them; case does not count.
func parseQuery(query string) []term {
	var terms []term
	for _, match := range termPattern.FindAllStringSubmatch(query, -1) {
		if text := strings.ToLower(match[2] + match[3]); text != "" {
			terms = append(terms, term{strings.ToLower(match[1]), text})
		}
	}
	return terms
}

func (in *Inbox) matches(m *Summary, terms []term) bool {
	for _, t := range terms {
		if !strings.Contains(strings.ToLower(in.field(m, t.field)), t.text) {
			return false
		}
	}
	return true
}

// field returns the text in which a term is searched.
func (in *Inbox) field(m *Summary, name string) string {
	switch name {
	case "to":
		return join(m.To) + join(m.Cc) + join(m.Bcc)
	case "from":
		return sender(m)
	case "subject":
		return m.Subject
	case "message-id":
		return m.MessageID
	default:
		return in.everything(m)
	}
}

// everything returns the text of a mail and its fields.
func (in *Inbox) everything(m *Summary) string {
	raw, _ := os.ReadFile(in.path(m.ID)) // if it was deleted meanwhile, its fields are left
	mail := parse(raw)
	return strings.Join([]string{sender(m), join(m.To), join(m.Cc), join(m.Bcc), m.Subject, mail.Text,
		textOf(mail.HTML)}, "\n")
}

// sender returns From, which a mail may lack.
func sender(m *Summary) string {
	if m.From == nil {
		return ""
	}
	return join([]Address{*m.From})
}

// join returns addresses, one a line.
func join(list []Address) string {
	var b strings.Builder
	for _, a := range list {
		b.WriteString(a.String() + "\n")
	}
	return b.String()
}
