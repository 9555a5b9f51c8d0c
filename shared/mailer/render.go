// Package mailer makes the mails to users. It knows which events request a mail. The notifier sends these mails, and
// the users service counts them. The package makes the subject, the text part and the HTML part of a mail from its
// texts. The notifier sends the result, and the text service previews it.
//
// Texts are plain text with placeholders. In HTML, texts and values are escaped and keep their line breaks. So
// neither can add an element, a header or another placeholder. The mail loads nothing from other servers. A rendered
// mail may be stored, because it contains a mark instead of the code. Fill replaces the mark by the code when the
// mail is sent. No text or value can contain the mark.
package mailer

import (
	"errors"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/text/language"

	"herald/shared/mail"
)

// codeMark is in a rendered mail at the place of the code. It is a control character, which clean removes from texts
// and values.
const codeMark = "\x1a"

// maxText is the largest size of the texts of one mail with their values, in bytes. 256 KiB is far more than a mail
// needs, and less than every usual mail server accepts.
const maxText = 256 << 10

// Texts are the parts of a message from the text service, in one language. An empty part is left out of the mail.
type Texts struct {
	Title, PreHeader, Subject, Greeting, Text, ButtonText, FooterText string
}

// Message holds everything from which a mail is made.
type Message struct {
	Texts Texts
	// Language is the BCP 47 tag of Texts.
	Language string
	// List are the lines of a list below the text; nil for none. They have no placeholders.
	List []string
	// Link is the target of the button, an absolute http or https URL. It is empty for a mail without a button. If it
	// contains {{.Code}}, that is replaced by the code, and the code is also shown below the button.
	Link string
	// Color is that of the button, # and six hexadecimal digits; any other text stands for Herald's.
	Color string
	// Support is the e-mail address for help, which the mail shows at its end; empty for none.
	Support string
	// Value returns the value of a placeholder, such as FirstName. It is not called for Code if there is a link.
	Value func(name string) string
}

// Rendered is a mail with the mark instead of its code. It can be stored as JSON.
type Rendered struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

// Render returns the mail. It fails if Link is not a web address, or if the texts with their values are larger than
// 256 KiB.
func (m Message) Render() (Rendered, error) {
	link, err := m.link()
	if err != nil {
		return Rendered{}, err
	}
	tag := language.Make(m.Language)
	p := page{
		Language:   tag.String(),
		Direction:  direction(tag),
		Title:      m.expand(m.Texts.Title),
		PreHeader:  oneLine(m.expand(m.Texts.PreHeader)),
		Subject:    oneLine(m.expand(m.Texts.Subject)),
		Greeting:   m.expand(m.Texts.Greeting),
		Text:       m.expand(m.Texts.Text),
		ButtonText: oneLine(m.expand(m.Texts.ButtonText)),
		FooterText: m.expand(m.Texts.FooterText),
		Link:       link,
		Support:    oneLine(clean(m.Support)),
		Help:       wordsIn(tag).Help,
		Href:       template.HTMLAttr(`href="` + html.EscapeString(link) + `"`),
	}
	for _, line := range m.List {
		p.List = append(p.List, oneLine(clean(line)))
	}
	if strings.Contains(link, codeMark) {
		p.Code = codeMark
	}
	p.paint(m.Color)
	if p.ButtonText != "" {
		p.Address = wordsIn(tag).Address
	}
	if size := p.size(); size > maxText {
		return Rendered{}, fmt.Errorf("the texts have %d bytes with their values filled in, more than %d",
			size, maxText)
	}
	body, err := p.html()
	if err != nil {
		return Rendered{}, err
	}
	return Rendered{Subject: p.Subject, Text: p.plain(), HTML: body}, nil
}

// Fill returns the mail with its code, ready to be sent. The result must not be stored. The code must have 1 to 200
// characters of A-Z a-z 0-9 - _, because other characters would need escaping.
func (r Rendered) Fill(code string) (Rendered, error) {
	strange := strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
	if code == "" || len(code) > 200 || strange != "" {
		return Rendered{}, errors.New("the code cannot stand in a link")
	}
	return Rendered{
		Subject: strings.ReplaceAll(r.Subject, codeMark, code),
		Text:    strings.ReplaceAll(r.Text, codeMark, code),
		HTML:    strings.ReplaceAll(r.HTML, codeMark, code),
	}, nil
}

// link checks the link and returns it with the mark instead of the code.
func (m Message) link() (string, error) {
	if m.Link == "" {
		return "", nil
	}
	u, err := url.Parse(strings.ReplaceAll(m.Link, "{{.Code}}", ""))
	if err != nil {
		return "", fmt.Errorf("link of the mail: %w", err)
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || strings.ContainsFunc(m.Link, unicode.IsSpace) {
		return "", errors.New("the link of the mail is not an absolute http or https URL")
	}
	return strings.ReplaceAll(m.Link, "{{.Code}}", codeMark), nil
}

func (m Message) expand(text string) string {
	return mail.ExpandPlaceholders(strings.TrimSpace(clean(text)), func(name string) string {
		if name == "Code" && strings.Contains(m.Link, "{{.Code}}") {
			return codeMark
		}
		return oneLine(clean(m.Value(name)))
	})
}

// clean removes control characters except line breaks. It also removes characters that change the direction of
// writing, because a name with them could change how the sentence around it looks.
func clean(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			return '\n'
		case r == '\t':
			return ' '
		case unicode.IsControl(r), '\u202a' <= r && r <= '\u202e', '\u2066' <= r && r <= '\u2069':
			return -1
		}
		return r
	}, text)
}

// oneLine replaces white space by single spaces, so that the text is one line. It keeps non-breaking spaces.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f'
	}), " ")
}

func direction(tag language.Tag) string {
	script, _ := tag.Script()
	switch script.String() {
	case "Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm", "Rohg":
		return "rtl"
	}
	return "ltr"
}
